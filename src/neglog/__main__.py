"""`python -m neglog`: the families, and one idea, in a table."""

from rich.console import Console
from rich.table import Table

from neglog import Flat, Gaussian, Laplace
from neglog.overview import rows


def families() -> Table:
    """Every family with an example: what a typical draw costs in nats, which is its entropy."""
    table = Table(title="Every loss is a −log p", caption="H: the entropy of an example, the nats that one draw costs")
    for column in ("family", "y", "as noise: the loss", "as prior: the penalty", "link"):
        table.add_column(column, no_wrap=column == "family", overflow="fold")
    table.add_column("H", justify="right", no_wrap=True)
    for row in rows():
        nats = "–" if isinstance(row.example, Flat) else f"{float(row.example.entropy()):.4f}"
        table.add_row(row.family, row.support, row.as_noise, row.as_prior, row.link, nats)
    return table


def two_roles() -> Table:
    """The same object as a noise and as a prior."""
    table = Table(title="One object, two roles", caption="both columns are −log p up to a constant, in nats")
    for column in ("object", "as noise, at y − f = 2", "as prior, at θ = (1, −2)"):
        table.add_column(column)
    gaussian, laplace = Gaussian(scale=1.0), Laplace(scale=0.5)
    for law in (gaussian, laplace, gaussian * laplace):
        noise = "–"
        if isinstance(law, Gaussian | Laplace):
            loss, scale = float(law.loss(2.0, 0.0)), float(law.loss_scale)
            noise = f"loss {loss:.2f} / {scale:.2f} = {loss / scale:.2f}"
        table.add_row(repr(law), noise, f"penalty {float(law.penalty([1.0, -2.0])):.2f}")
    return table


def main() -> None:
    """Print both tables."""
    console = Console()
    console.print(families())
    console.print(two_roles())


if __name__ == "__main__":
    main()
