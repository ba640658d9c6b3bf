// Command kstatus prints the verdict of Flux and Helm 4 on Kubernetes objects: it reads a JSON array of them and writes
// one of {"status", "message"}.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "kstatus:", err)
		os.Exit(1)
	}
}

func run() error {
	var objects []unstructured.Unstructured
	if err := json.NewDecoder(os.Stdin).Decode(&objects); err != nil {
		return fmt.Errorf("standard input is no JSON array of objects: %w", err)
	}
	verdicts := make([]verdict, 0, len(objects))
	for _, object := range objects {
		found, err := status.Compute(&object)
		if err != nil {
			return err
		}
		verdicts = append(verdicts, verdict{found.Status.String(), found.Message})
	}
	return json.NewEncoder(os.Stdout).Encode(verdicts)
}
