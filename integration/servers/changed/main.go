// Command changed runs a server on standard input and output, and changes one of its parts:
//
//	changed result COMMAND…   the text of a result without matches
//	changed tool COMMAND…     a tool that no longer exists
//	changed error COMMAND…    the text of an error
//	changed nothing COMMAND…
package main

import (
	"bufio"
	"encoding/json"
	"io"
	"log"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// removed is the tool that "changed tool" removes.
const removed = "move_file"

func main() {
	server := exec.Command(os.Args[2], os.Args[3:]...)
	server.Stderr = os.Stderr
	in, err := server.StdinPipe()
	if err != nil {
		log.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		log.Fatal(err)
	}
	if err := server.Start(); err != nil {
		log.Fatal(err)
	}
	go func() {
		pass(os.Stdin, in, request)
		in.Close()
	}()
	pass(out, os.Stdout, response)
	if err := server.Wait(); err != nil {
		log.Fatal(err)
	}
}

// pass copies messages and applies change to each.
func pass(from io.Reader, to io.Writer, change func(map[string]any)) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		var message map[string]any
		if json.Unmarshal([]byte(line), &message) == nil {
			change(message)
			changed, err := json.Marshal(message)
			if err != nil {
				log.Fatal(err)
			}
			line = string(changed) + "\n"
		}
		if _, err := io.WriteString(to, line); err != nil {
			return
		}
	}
}

func request(message map[string]any) {
	if params, _ := message["params"].(map[string]any); os.Args[1] == "tool" && params["name"] == removed {
		params["name"] = removed + "_as_it_was"
	}
}

func response(message map[string]any) {
	result, _ := message["result"].(map[string]any)
	switch os.Args[1] {
	case "result":
		replace(result, "No matches found", "Nothing fits")
	case "error":
		replace(result, "Access denied", "Forbidden")
	case "tool":
		if tools, ok := result["tools"].([]any); ok {
			result["tools"] = slices.DeleteFunc(tools, func(t any) bool { return t.(map[string]any)["name"] == removed })
		}
	}
}

// replace replaces text in the text blocks of a result.
func replace(result map[string]any, old, new string) {
	content, _ := result["content"].([]any)
	for _, block := range content {
		if block, ok := block.(map[string]any); ok {
			if text, ok := block["text"].(string); ok {
				block["text"] = strings.ReplaceAll(text, old, new)
			}
		}
	}
}
