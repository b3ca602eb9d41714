package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/junction-mcp/junction/deploy/internal/product"
)

//go:embed npm/junction.js
var nodeProgram []byte

// npmPackages writes the package junction-mcp, and a package with the binary for each platform,
// which the first one has as optional dependencies. None has a script that runs on installation.
func (r *release) npmPackages(context.Context) error {
	optional := map[string]string{}
	for _, p := range r.platforms {
		name := p.node + "-" + p.cpu
		optional["@junction-mcp/"+name] = r.version
		program := "bin/" + p.program()
		err := r.npmPackage("junction-mcp-"+name, map[string]any{
			"name": "@junction-mcp/" + name, "version": r.version, "description": fmt.Sprintf("Junction for %s", name),
			"os": []string{p.node}, "cpu": []string{p.cpu}, "files": []string{"bin"}, "preferUnplugged": true,
		}, entry{"package/" + program, r.binaries[p.String()], true})
		if err != nil {
			return err
		}
	}
	return r.npmPackage("junction-mcp", map[string]any{
		"name": "junction-mcp", "version": r.version, "description": product.Summary, "mcpName": product.Server,
		"keywords":             []string{"mcp", "model-context-protocol", "gateway"},
		"bin":                  map[string]string{"junction": "bin/junction.js", "junction-mcp": "bin/junction.js"},
		"files":                []string{"bin"},
		"engines":              map[string]string{"node": ">=18"},
		"optionalDependencies": optional,
	}, entry{"package/bin/junction.js", nodeProgram, true}, entry{"package/README.md", r.texts["README.md"], false})
}

// npmPackage writes a package with its files.
func (r *release) npmPackage(name string, description map[string]any, contents ...entry) error {
	description["license"] = product.License
	description["homepage"] = product.Homepage
	description["repository"] = map[string]string{"type": "git", "url": "git+" + product.Homepage + ".git"}
	text, err := json.MarshalIndent(description, "", "  ")
	if err != nil {
		return err
	}
	contents = append([]entry{{"package/package.json", append(text, '\n'), false}, {"package/LICENSE", r.texts["LICENSE"], false}}, contents...)
	data, err := tarGzip(contents, r.when)
	if err != nil {
		return err
	}
	return r.write(name+"-"+r.version+".tgz", data)
}
