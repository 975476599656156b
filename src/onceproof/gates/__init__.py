"""The gate: whether the verdict history proves, for one version, what a policy asks for."""
