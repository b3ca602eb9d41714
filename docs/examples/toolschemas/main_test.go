package main

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

func TestEveryWayGreetsAndChecks(t *testing.T) {
	c := mcp.NewClient(newServer())
	defer c.Close()
	for name, limited := range map[string]bool{
		"simple-greeting": false, "manual-greeting": true, "unvalidated-greeting": false,
		"customized-greeting-1": true, "customized-greeting-2": true,
	} {
		got, err := mcp.Call[Greeting](t.Context(), c, name, Person{"Ada"})
		if err != nil || got.Greeting != "Hi Ada" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		_, err = mcp.Call[Greeting](t.Context(), c, name, Person{strings.Repeat("Ada", 4)})
		if limited != (err != nil) {
			t.Errorf("%s with a long name: %v", name, err)
		}
	}
}
