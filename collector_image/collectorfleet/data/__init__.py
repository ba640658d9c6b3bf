"""How rollouts travel: as numpy arrays that Ray hands over without a copy, with an explicit schema."""
