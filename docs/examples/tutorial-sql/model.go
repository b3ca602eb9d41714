// Command model stands in for a language model, so that this tutorial needs neither key nor network.
// It answers chat completions as providers do, and follows one plan: it describes the database, asks
// it, writes a CSV file of the rows that came back, and answers with what happened.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
)

// A message is one of a request: what the user asked, what the model called, what a tool returned.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type request struct {
	Messages []message `json:"messages"`
	Tools    []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

const question = `SELECT product, SUM(cents) AS cents FROM orders
WHERE day LIKE '2026-10-%' GROUP BY product ORDER BY cents DESC`

// next returns the call that follows the results since the last question, or the answer.
func next(r request) (tool string, arguments map[string]any, answer string) {
	asked, results := "", []string(nil)
	for _, m := range r.Messages {
		switch m.Role {
		case "user":
			asked, results = m.Content, nil
		case "tool":
			results = append(results, m.Content)
		}
	}
	switch {
	case strings.Contains(strings.ToLower(asked), "delete"):
		if len(results) == 0 {
			return "query", map[string]any{"sql": "DELETE FROM orders"}, ""
		}
		return "", nil, "The database refused: " + results[0]
	case len(results) == 0:
		return "describe", map[string]any{"table": "orders"}, ""
	case len(results) == 1:
		return "query", map[string]any{"sql": question}, ""
	case len(results) == 2:
		return "write-file", map[string]any{"path": "answers/october.csv", "content": csv(results[1])}, ""
	}
	return "", nil, "answers/october.csv has the sales of October. The file tool said: " + results[2]
}

// csv makes CSV of the table in a result. Real models do that, too, from the same text.
func csv(table string) string {
	var text strings.Builder
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) == 2 && !strings.Contains(line, "---") {
			fmt.Fprintf(&text, "%s,%s\n", strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1]))
		}
	}
	return text.String()
}

func complete(w http.ResponseWriter, r *http.Request) {
	var asked request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	tool, arguments, answer := next(asked)
	delta, reason := map[string]any{"content": answer}, "stop"
	for _, t := range asked.Tools { // a gateway puts the server's name in front of the tool's
		if tool != "" && strings.HasSuffix(t.Function.Name, tool) {
			text, _ := json.Marshal(arguments) // texts, which JSON can always express
			delta = map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": fmt.Sprint("call", len(asked.Messages)), "type": "function",
				"function": map[string]any{"name": t.Function.Name, "arguments": string(text)}}}}
			reason = "tool_calls"
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	chunk, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}}})
	fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", chunk)
}

func main() {
	http.HandleFunc("POST /v1/chat/completions", complete)
	listener, err := net.Listen("tcp", "127.0.0.1:8181")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the model is at http://127.0.0.1:8181/v1")
	log.Fatal(http.Serve(listener, nil))
}
