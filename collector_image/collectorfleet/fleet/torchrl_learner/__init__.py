"""Send weights to the driver from a learner of TorchRL's trainers. The learner runs in separate actors."""
