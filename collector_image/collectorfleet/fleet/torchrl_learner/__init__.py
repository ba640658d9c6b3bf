"""Send weights to the driver from a learner of TorchRL's trainers, which runs in separate actors."""
