package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"text/template"

	"github.com/junction-mcp/junction/deploy/internal/product"
)

//go:embed junction.rb.tmpl
var formula string

// manifests writes the formula for Homebrew, the manifest for Scoop, and server.json for the
// registry of the Model Context Protocol. Each names the files of the platforms that the release
// has.
func (r *release) manifests(context.Context) error {
	if err := r.homebrew(); err != nil {
		return err
	}
	if err := r.scoop(); err != nil {
		return err
	}
	return r.serverJSON()
}

// A download is an archive, as manifests name it.
type download struct{ Arch, URL, Sum string }

// downloads returns the archives for an operating system.
func (r *release) downloads(os string) (all []download) {
	for _, p := range r.platforms {
		if name := r.archiveName(p); p.os == os {
			all = append(all, download{p.arch, r.url(name), r.sumOf(name)})
		}
	}
	return all
}

func (r *release) homebrew() error {
	t, err := template.New("junction.rb").Parse(formula)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Summary": product.Summary, "Homepage": product.Homepage, "License": product.License, "Version": r.version,
		"MacOS": r.downloads("darwin"), "Linux": r.downloads("linux"),
	})
	if err != nil {
		return err
	}
	return r.write("junction.rb", b.Bytes())
}

func (r *release) scoop() error {
	names := map[string]string{"amd64": "64bit", "arm64": "arm64"}
	current, next := map[string]any{}, map[string]any{}
	for _, d := range r.downloads("windows") {
		current[names[d.Arch]] = map[string]string{"url": d.URL, "hash": d.Sum}
		next[names[d.Arch]] = map[string]string{"url": fmt.Sprintf("%s/releases/download/v$version/junction_$version_windows_%s.zip", product.Homepage, d.Arch)}
	}
	return r.writeJSON("junction.json", map[string]any{
		"version": r.version, "description": product.Summary, "homepage": product.Homepage, "license": product.License, "bin": "junction.exe",
		"architecture": current, "checkver": "github",
		"autoupdate": map[string]any{"architecture": next, "hash": map[string]string{"url": "$baseurl/SHA256SUMS"}},
	})
}

// serverJSON writes the entry of the registry: junction up over standard input and output.
func (r *release) serverJSON() error {
	stdio := map[string]string{"type": "stdio"}
	arguments := []map[string]any{
		{"type": "positional", "value": "up"},
		{"type": "named", "name": "--stdio"},
	}
	packages := []map[string]any{
		{"registryType": "npm", "identifier": "junction-mcp", "version": r.version, "runtimeHint": "npx", "packageArguments": arguments, "transport": stdio},
		{"registryType": "pypi", "identifier": "junction-mcp", "version": r.version, "runtimeHint": "uvx", "packageArguments": arguments, "transport": stdio},
	}
	if len(r.downloads("linux")) > 0 {
		packages = append(packages, map[string]any{"registryType": "oci", "identifier": product.Image + ":" + r.version, "packageArguments": arguments, "transport": stdio})
	}
	for _, p := range r.platforms {
		name := r.bundleName(p)
		packages = append(packages, map[string]any{"registryType": "mcpb", "identifier": r.url(name), "fileSha256": r.sumOf(name), "transport": stdio})
	}
	return r.writeJSON("server.json", map[string]any{
		"$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
		"name":    product.Server, "title": "Junction", "description": product.Summary, "version": r.version, "websiteUrl": product.Homepage,
		"repository": map[string]string{"url": product.Homepage, "source": "github"},
		"packages":   packages,
	})
}

// writeJSON adds a file with indented JSON to the release.
func (r *release) writeJSON(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "    ")
	if err != nil {
		return err
	}
	return r.write(name, append(text, '\n'))
}
