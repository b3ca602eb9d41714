package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
)

// The most frequent output of a server: results of tools and pages of lists.
func BenchmarkAppendJSON(b *testing.B) {
	blocks := &CallToolResult{StructuredContent: []byte(`{"sum":3}`), IsError: true}
	for range 8 {
		blocks.Content = append(blocks.Content, Text("a line of text"), Image([]byte("not a picture"), "image/png"))
	}
	for _, bb := range []struct {
		name  string
		value appender
	}{
		{"text", textResult("3")},
		{"one block", &CallToolResult{Content: []Content{Text("3")}}},
		{"sixteen blocks", blocks},
		{"structured", &structured{value: struct{ Sum int }{3}}},
		{"contents", &ReadResourceResult{Contents: []ResourceContents{TextContents("notes://1", "text/plain", "a line of text")}}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			dst := make([]byte, 0, 4096)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := bb.value.AppendJSON(dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkListPage(b *testing.B) {
	s := NewServer("bench", "1")
	for i := range 1000 {
		s.AddTool(Tool{Name: fmt.Sprintf("tool-%03d", i)}, func(context.Context, json.RawMessage) (*CallToolResult, error) { return nil, nil })
	}
	snapshot := s.tools.read()
	b.ReportAllocs()
	for b.Loop() {
		snapshot.page("tools", 0, 1000)
	}
}

func BenchmarkHandleCall(b *testing.B) {
	s := NewServer("bench", "1")
	AddTool(s, "add", func(_ context.Context, in struct{ A, B int }) (string, error) { return fmt.Sprint(in.A + in.B), nil })
	req := NewRequest("tools/call", []byte(`{"name":"add","arguments":{"A":1,"B":2}}`))
	dst := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		result, err := s.Handle(b.Context(), req)
		if err == nil {
			_, err = result.AppendJSON(dst)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
