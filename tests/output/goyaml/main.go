// goyaml parses YAML like kubectl: apimachinery splits the stream, sigs.k8s.io/yaml converts each
// document to JSON. It reads file names from standard input, one per line, and prints one line for
// each: {"documents": [...]} or {"error": "..."}.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	stream "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

type answer struct {
	Documents []json.RawMessage `json:"documents"`
	Error     string            `json:"error,omitempty"`
}

func read(path string) answer {
	text, err := os.ReadFile(path)
	if err != nil {
		return answer{Error: err.Error()}
	}
	reader := stream.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	all := answer{Documents: []json.RawMessage{}}
	for {
		document, err := reader.Read()
		if err == io.EOF {
			return all
		}
		if err != nil {
			return answer{Error: err.Error()}
		}
		object, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return answer{Error: err.Error()}
		}
		if string(object) != "null" { // an empty document, which kubectl passes over
			all.Documents = append(all.Documents, object)
		}
	}
}

func main() {
	paths := bufio.NewScanner(os.Stdin)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for paths.Scan() {
		line, err := json.Marshal(read(paths.Text()))
		if err != nil {
			line, _ = json.Marshal(answer{Error: err.Error()})
		}
		fmt.Fprintf(out, "%s\n", line)
	}
}
