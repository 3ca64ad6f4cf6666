"""Node agents, the Kubernetes nodes behind them, and their administration."""
