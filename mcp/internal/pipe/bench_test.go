package pipe

import (
	"bufio"
	"context"
	"os"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

type files struct {
	*os.File // reads
	w        *os.File
}

func (f files) Write(b []byte) (int, error) { return f.w.Write(b) }
func (f files) Close() error {
	f.w.Close()
	return f.File.Close()
}

// BenchmarkCall makes one call at a time over pipes of the system, to a server that only answers.
func BenchmarkCall(b *testing.B) {
	in, toClient, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	fromClient, out, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	go func() {
		r := bufio.NewReader(fromClient)
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				toClient.Close()
				return
			}
			m, _ := jsonrpc.Parse(line, jsonrpc.Limits{})
			toClient.Write(append(jsonrpc.AppendResult(nil, m.ID, nil), '\n'))
		}
	}()
	l := New(files{in, out}, Options{Name: "bench"})
	defer l.Close()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.ReportAllocs()
	var id int64
	for b.Loop() {
		id++
		if _, err := l.Call(ctx, request(id, "tools/call"), nil); err != nil {
			b.Fatal(err)
		}
	}
}
