"""Cases that every trainer must pass; test_lightgbm.py and test_xgboost.py run them with their own."""

import numpy as np
import pytest
from boosting.trainers import MODELLED, OPEN, SEVERAL, TRUTH, draws, several_draws, signal, spread_draws

import neglog as nl
from neglog.boosting import BoostedModel
from neglog.boosting import load as load_model

ROUNDS = 60


class TrainerCases:
    """`settings` is a fixture of each test file."""

    def train(self, settings, *args, **options):
        options.setdefault("num_boost_round", ROUNDS)
        return settings.module.train(settings.params, *args, **options)

    # ---- every noise -------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("family", OPEN)
    def test_every_noise_beats_its_intercept_and_comes_near_the_truth(self, settings, family):
        X, y, _ = draws(family)
        X2, y2, _ = draws(family, seed=7)
        model = self.train(settings, X, y, OPEN[family], valid=(X2, y2), early_stopping_rounds=10)
        X3, y3, eta3 = draws(family, seed=11)
        held_out = model.nll(X3, y3).mean()
        truth = TRUTH[family].given(eta3).nll(y3).mean()
        null = nl.fit(X[:, :0], y, OPEN[family])
        nothing = null.distribution(X3[:, :0]).nll(y3).mean()
        assert held_out < nothing - 0.4 * (nothing - truth)
        assert model.held_out == pytest.approx(model.nll(X2, y2).mean())
        assert all(value is not None for name, value in model.noise.parameters.items() if name != model.noise.location)

    @pytest.mark.parametrize("family", MODELLED)
    def test_a_modelled_spread_beats_a_constant_one(self, settings, family):
        X, y, _ = spread_draws(family)
        X2, y2, _ = spread_draws(family, seed=7)
        X3, y3, law3 = spread_draws(family, seed=11)
        valid = (X2, y2)
        constant = MODELLED[family].unmodelled()
        one = self.train(settings, X, y, constant, valid=valid, early_stopping_rounds=10, num_boost_round=150)
        two = self.train(settings, X, y, MODELLED[family], valid=valid, early_stopping_rounds=10, num_boost_round=150)
        truth = law3.nll(y3).mean()
        gap_one, gap_two = one.nll(X3, y3).mean() - truth, two.nll(X3, y3).mean() - truth
        assert 0 < gap_two < 0.75 * gap_one
        (name,) = MODELLED[family].modelled
        found = np.log(getattr(two.distribution(X3), name))
        assert np.corrcoef(found, np.log(getattr(law3, name)))[0, 1] > 0.8
        assert two.noise.modelled == (name,)

    @pytest.mark.parametrize("noise", SEVERAL, ids=repr)
    def test_modelled_parameters_beat_constant_ones(self, settings, noise, tmp_path):
        X, y, _ = several_draws(noise)
        X2, y2, _ = several_draws(noise, seed=7)
        X3, y3, law3 = several_draws(noise, seed=11)
        options = {"valid": (X2, y2), "early_stopping_rounds": 10, "num_boost_round": 150}
        one = self.train(settings, X, y, noise.unmodelled(), **options)
        two = self.train(settings, X, y, noise, **options)
        truth = law3.nll(y3).mean()
        gap_one, gap_two = one.nll(X3, y3).mean() - truth, two.nll(X3, y3).mean() - truth
        assert 0 < gap_two < 0.6 * gap_one
        assert two.outputs == 1 + len(noise.modelled)
        found = two.distribution(X3)
        name = noise.modelled[-1]
        scale = noise.parameter(name).predicted
        assert np.corrcoef(scale.raw(getattr(found, name)), scale.raw(getattr(law3, name)))[0, 1] > 0.7
        two.save(tmp_path / "model.json")
        np.testing.assert_array_equal(load_model(tmp_path / "model.json").nll(X3, y3), two.nll(X3, y3))
        best = two.nll(X2, y2).sum()
        assert two.held_out == pytest.approx(best / len(y2))
        for k in range(1, two.outputs):  # their levels are the best for held-out rows
            for step in (-0.02, 0.02):
                two.intercept[k] += step
                assert two.nll(X2, y2).sum() > best
                two.intercept[k] -= step

    # ---- start, offset, exposure, weights ----------------------------------------------------------------------------

    @pytest.mark.parametrize("family", OPEN)
    def test_the_start_is_the_intercept_only_maximum_likelihood(self, settings, family):
        X, y, _ = draws(family, 400)
        model = self.train(settings, X, y, TRUTH[family], num_boost_round=1)
        null = nl.fit(X[:, :0], y, TRUTH[family])
        np.testing.assert_allclose(model.intercept, np.atleast_1d(null.intercept), rtol=1e-6, atol=1e-8)

    def test_an_exposure_multiplies_the_mean(self, settings):
        X, _, eta = draws("poisson", 3000)
        rng = np.random.default_rng(3)
        exposure = rng.uniform(0.1, 5.0, len(eta))
        y = rng.poisson(exposure * np.exp(eta)).astype(float)
        model = self.train(settings, X, y, nl.Poisson(), exposure=exposure)
        null = nl.fit(X[:, :0], y, nl.Poisson(), exposure=exposure)
        np.testing.assert_allclose(model.intercept, null.intercept, rtol=1e-8)
        same = self.train(settings, X, y, nl.Poisson(), offset=np.log(exposure))
        np.testing.assert_array_equal(model.predict(X, exposure=exposure), same.predict(X, offset=np.log(exposure)))
        np.testing.assert_allclose(model.predict(X, exposure=exposure), exposure * model.predict(X), rtol=1e-10)
        assert np.corrcoef(np.log(model.predict(X)), eta)[0, 1] > 0.95

    def test_a_large_offset_loses_no_digits(self, settings):
        X, y, _ = draws("gaussian", 600)
        near = self.train(settings, X, y, nl.Gaussian(scale=0.5))
        far = self.train(settings, X, y + 2.0**30, nl.Gaussian(scale=0.5), offset=np.full(600, 2.0**30))
        np.testing.assert_allclose(far.predict(X, offset=np.full(600, 2.0**30)) - 2.0**30, near.predict(X), atol=2e-6)

    @pytest.mark.parametrize("family", ["gaussian", "poisson", "tweedie", "laplace", "categorical"])
    def test_weight_two_is_the_row_twice(self, settings, family):
        X, y, _ = draws(family, 500)
        X = X.round(1)  # the same bins, whichever rows count
        weight = np.where(np.arange(500) % 3 == 0, 2.0, 1.0)
        twice = np.repeat(np.arange(500), weight.astype(int))
        params = {**settings.params, **settings.no_counts}
        a = settings.module.train(params, X, y, OPEN[family], sample_weight=weight, num_boost_round=10, valid=(X, y))
        b = settings.module.train(params, X[twice], y[twice], OPEN[family], num_boost_round=10, valid=(X, y))
        np.testing.assert_allclose(a.intercept, b.intercept, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-4, atol=1e-4)

    def test_rows_without_weight_do_not_count(self, settings):
        X, y, _ = draws("poisson", 600)
        weight = np.where(np.arange(600) < 500, 1.0, 0.0)
        wild = np.where(weight > 0, y, 1000.0)
        model = self.train(settings, X, wild, nl.Poisson(), sample_weight=weight)
        assert model.predict(X).max() < 50

    # ---- early stopping and estimates --------------------------------------------------------------------------------

    def test_early_stopping_looks_at_held_out_nats(self, settings):
        X, y, _ = draws("poisson", 300)
        X2, y2, _ = draws("poisson", 300, seed=5)
        full = self.train(settings, X, y, nl.Poisson(), num_boost_round=400)
        stopped = self.train(
            settings, X, y, nl.Poisson(), num_boost_round=400, valid=(X2, y2), early_stopping_rounds=15
        )
        assert stopped.rounds < 400
        assert full.rounds == 400
        assert stopped.nll(X2, y2).mean() < full.nll(X2, y2).mean()
        curve = [
            self.train(settings, X, y, nl.Poisson(), num_boost_round=r).nll(X2, y2).mean()
            for r in (max(stopped.rounds - 3, 1), stopped.rounds, stopped.rounds + 3)
        ]
        assert curve[1] == min(curve)

    def test_estimates_come_from_rows_that_were_not_trained_on(self, settings):
        X, y, _ = draws("gaussian", 400)
        model = self.train(settings, X, y, nl.Gaussian(), num_boost_round=300)
        residuals = y - model.predict(X)
        assert model.noise.scale > 1.5 * np.sqrt(np.mean(residuals**2))  # which are overfitted
        X2, y2, _ = draws("gaussian", 4000, seed=5)
        assert model.noise.scale == pytest.approx(np.sqrt(np.mean((y2 - model.predict(X2)) ** 2)), rel=0.12)
        again = self.train(settings, X, y, nl.Gaussian(), num_boost_round=300)
        assert again.noise.scale == model.noise.scale

    @pytest.mark.parametrize("family", ["gaussian", "laplace", "huber", "lognormal", "gamma", "tweedie"])
    def test_estimates_are_the_maximum_of_the_held_out_likelihood(self, settings, family):
        X, y, _ = draws(family, 600)
        X2, y2, _ = draws(family, 600, seed=5)
        model = self.train(settings, X, y, OPEN[family], valid=(X2, y2), num_boost_round=20)
        raw = model.raw_prediction(X2)
        best = model.noise.given(raw).nll(y2).sum()
        for name, value in OPEN[family].parameters.items():
            if value is None and name != model.noise.location:
                for factor in (0.99, 1.01):
                    other = model.noise._replaced(**{f"_{name}": getattr(model.noise, name) * factor})
                    assert other.given(raw).nll(y2).sum() > best

    @pytest.mark.parametrize("family", MODELLED)
    def test_the_level_of_a_modelled_spread_is_the_best_for_held_out_rows(self, settings, family):
        X, y, _ = spread_draws(family, 600)
        X2, y2, _ = spread_draws(family, 600, seed=5)
        model = self.train(settings, X, y, MODELLED[family], valid=(X2, y2), num_boost_round=40)
        best = model.nll(X2, y2).sum()
        assert model.held_out == pytest.approx(best / 600)
        for step in (-0.01, 0.01):
            model.intercept[1] += step
            assert model.nll(X2, y2).sum() > best
            model.intercept[1] -= step

    def test_the_level_of_a_modelled_spread_without_held_out_rows_is_out_of_fold(self, settings):
        X, y, _ = spread_draws("gaussian", 1000)
        model = self.train(settings, X, y, nl.Gaussian(scale="model"), num_boost_round=60)
        X2, y2, _ = spread_draws("gaussian", 3000, seed=5)
        law = model.distribution(X2)
        assert np.sqrt(np.mean(((y2 - law.loc) / law.scale) ** 2)) == pytest.approx(1.0, abs=0.12)
        law = model.distribution(X)
        assert np.sqrt(np.mean(((y - law.loc) / law.scale) ** 2)) < 0.9  # which they were grown on

    def test_a_share_of_the_rows_may_be_held_out(self, settings):
        X, y, _ = draws("gamma", 1000)
        model = self.train(settings, X, y, "gamma", valid=0.25, early_stopping_rounds=10)
        assert model.noise.shape == pytest.approx(3.0, rel=0.4)
        assert np.isfinite(model.held_out)

    # ---- laws --------------------------------------------------------------------------------------------------------

    def test_laws_are_the_librarys(self, settings):
        X, y, _ = draws("gamma", 1000)
        model = self.train(settings, X, y, nl.Gamma())
        law = model.distribution(X)
        assert isinstance(law, nl.Gamma)
        assert law.batch_shape == (1000,)
        np.testing.assert_allclose(law.mean(), model.predict(X))
        np.testing.assert_allclose(law.nll(y), model.nll(X, y))
        X2, y2, _ = draws("gamma", 3000, seed=5)
        covered = np.mean(y2 <= model.distribution(X2).icdf(np.full(3000, 0.9)))
        assert covered == pytest.approx(0.9, abs=0.03)

    def test_classes_keep_their_labels(self, settings):
        X, y, _ = draws("categorical")
        labels = np.array(["ant", "bee", "cat"])[y.astype(int)]
        model = self.train(settings, X, labels, nl.Categorical())
        assert model.classes.tolist() == ["ant", "bee", "cat"]
        p = model.predict(X)
        assert p.shape == (len(y), 3)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        np.testing.assert_allclose(model.nll(X, labels), -np.log(p[np.arange(len(y)), y.astype(int)]), rtol=1e-6)
        with pytest.raises(ValueError, match=r"among the 3 classes .* 1 of 1500 rows are not: the first, row 4"):
            model.nll(X, np.where(np.arange(1500) == 4, "dog", labels))

    def test_two_classes_are_bernoulli(self, settings):
        X, y, _ = draws("bernoulli")
        two = self.train(settings, X, y, nl.Categorical(), num_boost_round=20)
        one = self.train(settings, X, y, nl.Bernoulli(), num_boost_round=20)
        assert np.corrcoef(two.predict(X)[:, 1], one.predict(X))[0, 1] > 0.99

    def test_offsets_of_classes(self, settings):
        X, y, _ = draws("categorical", 500)
        offset = np.random.default_rng(0).normal(size=(500, 3))
        model = self.train(settings, X, y, nl.Categorical(), offset=offset, num_boost_round=5)
        np.testing.assert_allclose(model.raw_prediction(X, offset=offset), model.raw_prediction(X) + offset, atol=1e-12)

    # ---- several models ----------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("truth", [SEVERAL[0], nl.Poisson(), SEVERAL[4]], ids=repr)
    def test_an_ensemble_mixes_the_laws_of_models_that_left_out_other_rows(self, settings, truth, tmp_path):
        X, y, _ = several_draws(truth, 900) if truth.modelled else draws("poisson", 900)
        X2, y2, _ = several_draws(truth, 3000, 5) if truth.modelled else draws("poisson", 3000, 5)
        noise = nl.StudentT(scale="model") if truth is SEVERAL[0] else truth  # df differs between its models
        one = self.train(settings, X, y, noise, valid=0.25, early_stopping_rounds=10)
        several = self.train(settings, X, y, noise, ensemble=4, early_stopping_rounds=10)
        assert len(several.members) == 4
        assert several.nll(X2, y2).mean() < one.nll(X2, y2).mean()
        densities = np.mean([np.exp(-member.nll(X2, y2)) for member in several.members], axis=0)
        np.testing.assert_allclose(several.nll(X2, y2), -np.log(densities), rtol=1e-10)
        law = several.distribution(X2[:40])
        cdf = np.mean([member.distribution(X2[:40]).cdf(y2[:40]) for member in several.members], axis=0)
        np.testing.assert_allclose(law.cdf(y2[:40]), cdf, rtol=1e-10)
        centres = [member.predict(X2[:40]) for member in several.members]
        np.testing.assert_allclose(several.predict(X2[:40]), np.mean(centres, axis=0))
        several.save(tmp_path / "several.json")
        back = load_model(tmp_path / "several.json")
        assert back.held_out == several.held_out
        np.testing.assert_array_equal(back.nll(X2, y2), several.nll(X2, y2))

    @pytest.mark.parametrize("noise", [nl.Categorical(), nl.Ordinal()], ids=repr)
    def test_an_ensemble_of_classes_averages_probabilities(self, settings, noise):
        X, y, _ = draws("categorical", 600)
        labels = np.array(["a", "b", "c"])[y.astype(int)]
        several = self.train(settings, X, labels, noise, ensemble=3, num_boost_round=10)
        p = np.mean([member.predict(X) for member in several.members], axis=0)
        np.testing.assert_allclose(several.predict(X), p)
        np.testing.assert_allclose(several.nll(X, labels), -np.log(p[np.arange(600), y.astype(int)]), rtol=1e-8)

    def test_ensembles_that_cannot_be_are_refused(self, settings, tmp_path):
        X, y, _ = draws("poisson", 100)
        with pytest.raises(ValueError, match="each model of an ensemble leaves out other rows"):
            self.train(settings, X, y, nl.Poisson(), ensemble=3, valid=0.2)
        with pytest.raises(ValueError, match="ensemble must be between 2 and the 100 rows, but is 1"):
            self.train(settings, X, y, nl.Poisson(), ensemble=1)
        self.train(settings, X, y, nl.Poisson(), ensemble=2, num_boost_round=2).save(tmp_path / "two.json")
        text = (tmp_path / "two.json").read_text()
        for damaged in (text.replace('"members"', '"numbers"'), text.replace('"columns": 4', '"columns": 3', 1)):
            (tmp_path / "two.json").write_text(damaged)
            with pytest.raises(ValueError, match="is damaged"):
                load_model(tmp_path / "two.json")

    # ---- tables ------------------------------------------------------------------------------------------------------

    def test_tables_are_matched_by_name(self, settings, tmp_path):
        pd = pytest.importorskip("pandas", reason="pandas dataframes")
        X, y, _ = draws("poisson", 400)
        frame = pd.DataFrame(X, columns=list("abcd")).assign(target=y, years=1.5)
        model = self.train(settings, frame, "target", nl.Poisson(), exposure="years")
        plain = self.train(settings, X, y, nl.Poisson(), exposure=np.full(400, 1.5))
        np.testing.assert_allclose(model.predict(frame, exposure="years"), plain.predict(X) * 1.5, rtol=1e-6)
        model.save(tmp_path / "named.json")
        for known in (model, model.load(tmp_path / "named.json")):
            np.testing.assert_array_equal(known.predict(frame), model.predict(frame, exposure="years"))
            with pytest.raises(ValueError, match="took its exposure from the column 'years'"):
                known.predict(frame[list("abcd")])
        turned, short = frame[[*"dcba", "years"]], frame[[*"acd", "years"]]
        np.testing.assert_array_equal(model.predict(turned), model.predict(frame))
        with pytest.raises(ValueError, match="X lacks the columns 'b'"):
            model.predict(short)

    def test_categories_sparse_matrices_and_missing_values(self, settings):
        pd = pytest.importorskip("pandas", reason="pandas dataframes")
        from scipy import sparse

        X, y, _ = draws("poisson", 400)
        frame = pd.DataFrame({"x": X[:, 0], "sort": pd.Categorical(np.where(X[:, 1] > 0.2, "high", "low"))})
        model = self.train(settings, frame, y, nl.Poisson())
        high, low = (frame.assign(sort=pd.Categorical([s] * 400, categories=["high", "low"])) for s in ("high", "low"))
        assert np.log(model.predict(high) / model.predict(low)).mean() == pytest.approx(0.8, abs=0.4)
        holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
        assert np.isfinite(self.train(settings, holes, y, nl.Poisson()).predict(holes)).all()
        counts = sparse.csr_matrix(np.where(X > 0, X, 0))
        few = self.train(settings, counts, y, nl.Poisson())
        assert np.isfinite(few.predict(counts)).all()

    def test_other_tables(self, settings):
        pl = pytest.importorskip("polars", reason="polars dataframes")
        X, y, _ = draws("poisson", 300)
        frame = pl.DataFrame({name: X[:, k] for k, name in enumerate("abcd")})
        model = self.train(settings, frame, y, nl.Poisson())
        np.testing.assert_array_equal(model.predict(frame), self.train(settings, X, y, nl.Poisson()).predict(X))
        with pytest.raises(TypeError, match="the columns 'e' of X do not hold numbers"):
            self.train(settings, frame.with_columns(e=pl.lit("text")), y, nl.Poisson())

    # ---- keeping -----------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize("noise", [nl.Tweedie(), nl.Gaussian(scale="model"), nl.Categorical()], ids=repr)
    def test_saved_models_predict_the_same(self, settings, noise, tmp_path):
        family = noise._family()
        X, y, _ = draws(family, 600)
        labels = np.array(["ant", "bee", "cat"])[y.astype(int)] if family == "categorical" else y
        options = {"valid": 0.3, "early_stopping_rounds": 5}
        model = self.train(settings, X, labels, noise, **options)
        model.save(tmp_path / "model.json")
        back = load_model(tmp_path / "model.json")
        assert isinstance(back, BoostedModel)
        np.testing.assert_array_equal(back.raw_prediction(X), model.raw_prediction(X))
        np.testing.assert_array_equal(back.nll(X, labels), model.nll(X, labels))
        assert back.noise == model.noise
        assert (back.rounds, back.held_out) == (model.rounds, model.held_out)
        assert settings.module.load(tmp_path / "model.json").intercept.tolist() == model.intercept.tolist()

    def test_files_that_are_no_models_are_refused(self, settings, tmp_path):
        X, y, _ = draws("poisson", 200)
        path = tmp_path / "model.json"
        self.train(settings, X, y, nl.Poisson(), num_boost_round=3).save(path)
        text = path.read_text()
        for damaged, message in (
            (text[: len(text) // 2], "no JSON"),
            ('{"neglog fit": 1}', r"format None, wanted 1"),
            (text.replace('"neglog boosted model": 1', '"neglog boosted model": 99'), "format 99, wanted 1"),
            (text.replace('"intercept"', '"intercepts"'), "intercept is missing"),
            (text.replace('"classes": null', '"classes": 3'), "classes is missing or not what it should be"),
            (text.replace('"intercept": [', '"intercept": [ 1.0, '), "has 1 raw predictions, but there are 2"),
            (text.replace('"Poisson"', '"os.system"'), "there is no noise 'os.system'"),
        ):
            path.write_text(damaged)
            with pytest.raises(ValueError, match=message):
                load_model(path)

    # ---- refusals ----------------------------------------------------------------------------------------------------

    @pytest.mark.parametrize(
        ("noise", "change", "message"),
        [
            (nl.Poisson(), {3: -1.0, 9: 0.5}, r"counts 0, 1, 2, …, but 2 of 100 rows are not: the first, row 3"),
            (nl.Gamma(), {0: 0.0}, r"needs y > 0, but 1 of 100 rows are not: the first, row 0, is 0"),
            (nl.LogNormal(), {5: -2.0}, r"needs y > 0, but 1 of 100"),
            (nl.Tweedie(power=1.5), {5: -2.0}, r"needs y ≥ 0, but 1 of 100"),
            (nl.Bernoulli(), {2: 2.0}, r"y = 0 or 1, but 1 of 100 rows are not: the first, row 2, is 2"),
            (nl.Gaussian(), {4: np.nan, 6: np.nan}, r"y has missing values in 2 of 100 rows, the first in row 4"),
            (nl.Gaussian(), {4: np.inf}, r"y must be finite, but 1 of 100 rows are not: the first, row 4"),
            (nl.Gaussian(scale="model"), {4: np.inf}, r"y must be finite, but 1 of 100"),
        ],
        ids=repr,
    )
    def test_bad_labels_are_refused_before_training(self, settings, noise, change, message):
        X = np.zeros((100, 2))
        good = noise.unmodelled()._replaced(**{f"_{noise.spread}": 1.0} if noise.spread else {}).given(np.zeros(100))
        y = good.sample(rng=0).astype(float)
        y[list(change)] = list(change.values())
        with pytest.raises(ValueError, match=message):
            self.train(settings, X, y, noise)

    def test_integers_for_a_real_valued_noise_are_refused(self, settings):
        X, y = np.zeros((100, 2)), np.arange(100) % 7
        with pytest.raises(TypeError, match=r"y holds 7 different integers in 100 rows .*astype\(float\)"):
            self.train(settings, X, y, nl.Gaussian())
        with pytest.raises(TypeError, match=r"2 different booleans in 100 rows"):
            self.train(settings, X, y > 3, nl.Laplace())

    def test_wrong_shapes_are_refused(self, settings):
        X, y, _ = draws("poisson", 100)
        for arguments, options, message in (
            ((X, y[:90]), {}, r"y must have one value per row of X, but has 90 for 100 rows"),
            ((X, np.stack([y, y], axis=1)), {}, r"y must have one value per row, 100 of them, but has the shape"),
            ((X[:, 0], y), {}, r"X must have two dimensions, rows and columns, but has the shape \(100,\)"),
            ((X, y), {"sample_weight": np.ones(99)}, r"sample_weight must have one value per row .* 99 for 100"),
            ((X, y), {"sample_weight": -np.ones(100)}, r"sample_weight must be ≥ 0 and finite, but 100 of 100"),
            ((X, y), {"sample_weight": np.zeros(100)}, r"zero in every row"),
            ((X, y), {"exposure": np.zeros(100)}, r"exposure must be > 0 and finite, but 100 of 100"),
            ((X, y), {"offset": np.full(100, np.inf)}, r"offset must be finite, but 100 of 100"),
            ((X, y), {"valid": (X, y[:50])}, r"valid: y must have one value per row of X, but has 50"),
            ((X, y), {"valid": (X, y - 1)}, r"valid: Poisson noise needs counts"),
            ((X, y), {"valid": (X[:, :2], y)}, r"valid: X must have the 4 columns of the model, but has 2"),
            ((X, y), {"valid": (X, y), "offset": np.zeros(100)}, r"only the training rows have an offset"),
            ((X, y), {"valid": 1.5}, r"valid as a share must hold out some of the 100 rows"),
            ((X, y), {"early_stopping_rounds": 5}, r"early_stopping_rounds needs rows to look at"),
            ((X, 0 * y), {}, r"y is 0 in all 100 rows"),
        ):
            with pytest.raises(ValueError, match=message):
                self.train(settings, *arguments, nl.Poisson(), **options)
        with pytest.raises(TypeError, match=r"valid must be \(X, y\)"):
            self.train(settings, X, y, nl.Poisson(), valid=X)
        model = self.train(settings, X, y, nl.Poisson(), num_boost_round=2)
        with pytest.raises(ValueError, match="X must have the 4 columns of the model, but has 3"):
            model.predict(X[:, :3])
        with pytest.raises(ValueError, match="needs the log link"):
            self.train(settings, X, y, nl.Gaussian(), exposure=np.ones(100))

    def test_links_that_trees_can_leave_are_refused(self, settings):
        X, y, _ = draws("poisson", 100)
        for noise in (nl.Poisson(link="identity"), nl.Gamma(link="inverse"), nl.Bernoulli(link="identity")):
            with pytest.raises(ValueError, match="trees add up to any number"):
                self.train(settings, X, y, noise)

    def test_an_open_power_follows_the_predictions(self, settings):
        """Of which the gradient depends on it: no number has to be stated."""
        _, y, _ = draws("tweedie", 400)
        raw = np.full(len(y), np.log(np.mean(y)))
        best = nl.fit(np.empty((len(y), 0)), y, nl.Tweedie(), offset=raw, intercept=False).noise
        gradient = settings.module.objective(nl.Tweedie())(y, raw)[0]
        wanted = nl.Tweedie(power=best.power, dispersion=1.0).gradient_hessian(y, raw)[0]
        np.testing.assert_allclose(gradient, wanted, rtol=1e-5)

    def test_the_noise_decides_the_objective(self, settings):
        X, y, _ = draws("poisson", 100)
        with pytest.raises(ValueError, match="objective is decided by the noise"):
            settings.module.train({**settings.params, "objective": "poisson"}, X, y, nl.Poisson())

    @pytest.mark.parametrize("link", ["probit", "cloglog"])
    def test_other_links_of_the_whole_line(self, settings, link):
        X, y, _ = draws("bernoulli")
        model = self.train(settings, X, y, nl.Bernoulli(link=link))
        assert model.nll(X, y).mean() < nl.fit(X[:, :0], y, nl.Bernoulli()).nll / len(y)
        positive = np.exp(signal(X)) + np.random.default_rng(0).normal(0, 0.2, len(X))
        log_link = self.train(settings, X, positive, nl.Gaussian(link="log"))
        assert log_link.noise.scale == pytest.approx(0.2, rel=0.3)
