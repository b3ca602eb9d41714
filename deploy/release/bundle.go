package main

import (
	"context"
	"encoding/json"

	"github.com/junction-mcp/junction/deploy/internal/product"
)

// bundles writes a bundle for desktop hosts (.mcpb) for each platform.
func (r *release) bundles(context.Context) error {
	for _, p := range r.platforms {
		program := "server/" + p.program()
		text, err := json.MarshalIndent(map[string]any{
			"manifest_version": "0.3", "name": "junction", "display_name": "Junction", "version": r.version, "description": product.Summary,
			"author": map[string]string{"name": product.Author, "url": product.Homepage}, "homepage": product.Homepage, "license": product.License,
			"repository": map[string]string{"type": "git", "url": product.Homepage},
			"server": map[string]any{
				"type": "binary", "entry_point": program,
				"mcp_config": map[string]any{"command": "${__dirname}/" + program, "args": []string{"up", "--stdio"}, "env": map[string]string{}},
			},
			"tools_generated": true, "prompts_generated": true,
			"compatibility": map[string]any{"platforms": []string{p.node}},
		}, "", "  ")
		if err != nil {
			return err
		}
		data, err := zipped([]entry{{"manifest.json", append(text, '\n'), false}, {program, r.binaries[p.String()], true}, {"LICENSE", r.texts["LICENSE"], false}}, r.when)
		if err != nil {
			return err
		}
		if err := r.write(r.bundleName(p), data); err != nil {
			return err
		}
	}
	return nil
}

// bundleName returns the file name of a platform's bundle.
func (r *release) bundleName(p platform) string {
	return "junction_" + r.version + "_" + p.String() + ".mcpb"
}
