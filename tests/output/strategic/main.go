// strategic applies strategic merge patches like the API server. It reads lines of JSON from standard input, each with a kind,
// an object of this kind and a patch, and prints one line for each: {"object": ...} or {"error": "..."}.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

type question struct {
	Kind   string          `json:"kind"`
	Object json.RawMessage `json:"object"`
	Patch  json.RawMessage `json:"patch"`
}

type answer struct {
	Object json.RawMessage `json:"object,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// The type of each kind. A pod template has the metadata and the spec of a pod.
var types = map[string]any{
	"Pod":         core.Pod{},
	"Service":     core.Service{},
	"StatefulSet": apps.StatefulSet{},
	"Job":         batch.Job{},
}

func apply(line []byte) answer {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return answer{Error: err.Error()}
	}
	of, found := types[asked.Kind]
	if !found {
		return answer{Error: "unknown kind " + asked.Kind}
	}
	object, err := strategicpatch.StrategicMergePatch(asked.Object, asked.Patch, of)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Object: object}
}

func main() {
	lines := bufio.NewReader(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		text, err := json.Marshal(apply(line))
		if err != nil {
			text, _ = json.Marshal(answer{Error: err.Error()})
		}
		fmt.Fprintf(out, "%s\n", text)
		out.Flush()
	}
}
