"""Reading YAML as kubectl does, with a line for each problem."""
