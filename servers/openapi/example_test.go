package openapi_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/httptool"
	"github.com/junction-mcp/junction/servers/openapi"
)

const document = `
openapi: 3.1.0
info: {title: Pets, version: "1"}
servers: [{url: https://api.example.com/v1}]
paths:
  /pets/{id}:
    get:
      operationId: getPet
      tags: [pets]
      parameters:
        - {name: id, in: path, schema: {type: integer}}
        - {name: fields, in: query, explode: false, schema: {type: array, items: {type: string}}}
`

// ExampleOpen connects a client to the server in the same process. To serve a host, pass the server
// to a transport: stdio.Serve(ctx, s).
func ExampleOpen() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Method, " ", r.URL) }))
	defer api.Close()
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	from := filepath.Join(dir, "pets.yaml")
	if err := os.WriteFile(from, []byte(document), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	s, err := openapi.Open(ctx, openapi.Options{
		From: from, Include: openapi.Selection{Tags: []string{"pets"}},
		Requests: httptool.Options{Base: api.URL}, // replaces https://api.example.com/v1
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	c := mcp.NewClient(s)
	defer c.Close()
	result, err := c.CallTool(ctx, "getPet", map[string]any{"id": 7, "fields": []string{"name", "age"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Text())
	// Output: GET /pets/7?fields=name,age
}
