"""What a fit missed: residuals, and how much single rows decide."""
