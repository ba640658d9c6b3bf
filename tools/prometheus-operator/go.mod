module collectorfleet.dev/tools/prometheus-operator

go 1.26.0

// For its CRDs; nothing of it is built.
require github.com/prometheus-operator/prometheus-operator v0.85.0
