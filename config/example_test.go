package config_test

import (
	"context"
	"fmt"
	"os"

	"github.com/junction-mcp/junction/config"
)

func Example() {
	file, err := config.Parse("servers.json", []byte(`{
		// Comments and trailing commas are fine.
		"mcpServers": {
			"weather": {"command": "npx", "args": ["-y", "weather-mcp", "${CITY:-Oslo}"]},
			"github": {"url": "https://api.example.com/mcp", "headers": {"Authorization": "Bearer ${GITHUB_TOKEN}"}},
			"clock": {"command": "npx -y clock-mcp"},
		},
	}`), config.Options{Getenv: func(string) (string, bool) { return "", false }})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range file.Problems {
		fmt.Println(p)
	}
	for _, definition := range file.Servers {
		server, err := definition.Resolve(context.Background())
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(server.Name, server.Command, server.Args)
	}
	// Output:
	// servers.json: server "clock": command: is a whole command line, and no shell splits it; write "command": "npx", and the other words in "args"
	// weather npx [-y weather-mcp Oslo]
	// servers.json: server "github": headers.Authorization: variable GITHUB_TOKEN is not set; export it, or give a default with ${GITHUB_TOKEN:-…}
}

func ExampleLoadAll() {
	options := config.Options{} // uses the process's own environment and folders
	servers, err := config.LoadAll(config.Find(options), options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	for _, definition := range servers.Servers {
		if definition.Disabled || definition.Project {
			continue // a project's servers need consent first
		}
		fmt.Println(definition)
	}
}
