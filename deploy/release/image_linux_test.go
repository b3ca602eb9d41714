package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/deploy/internal/imagetest"
	"github.com/junction-mcp/junction/deploy/internal/product"
)

// checkImage checks the image of a release for each of its architectures, and calls a tool of the
// one for this machine, which runs as a container engine runs it.
func checkImage(t *testing.T, folder string, arches ...string) {
	layout, version := unpackImage(t, folder)
	checkLoadable(t, layout, version)
	images := imagetest.Read(t, layout, version)
	var found []string
	for _, i := range images {
		c := i.Config.Config
		found = append(found, i.Config.Architecture)
		if i.Config.OS != "linux" || c.User != "65532:65532" || strings.Join(c.Entrypoint, " ") != "/junction" || c.Labels["io.modelcontextprotocol.server.name"] != product.Server {
			t.Errorf("the image for %s is %+v", i.Config.Architecture, i.Config)
		}
	}
	if !slices.Equal(found, arches) {
		t.Errorf("the image is for %v; it must be for %v", found, arches)
	}
	if os.Getuid() != 0 {
		t.Skip("only root can change the root folder and the user")
	}
	own := images[slices.Index(found, runtime.GOARCH)]
	root := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(root, 0o755))
	own.Unpack(t, root)
	if got := callWith(t, own.Arguments(t, root, nil, "up", "--stdio"), own.Environment()); got != "hello" {
		t.Errorf("echo returned %q", got)
	}
}

// unpackImage unpacks the image of a release into its layout.
func unpackImage(t *testing.T, folder string) (layout, version string) {
	t.Helper()
	file := one(t, folder, "junction_*_image.tar")
	layout = t.TempDir()
	do(t, layout, "tar", "-xf", file)
	return layout, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "junction_"), "_image.tar")
}

// checkLoadable checks what docker load and the import of containerd read: the manifest of the image
// for this machine, and the name of all.
func checkLoadable(t *testing.T, layout, version string) {
	t.Helper()
	var loaded []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	must(t, json.Unmarshal([]byte(read(t, layout, "manifest.json")), &loaded))
	name := product.Image + ":" + version
	if len(loaded) != 1 || !slices.Equal(loaded[0].RepoTags, []string{name}) {
		t.Fatalf("docker load reads %+v", loaded)
	}
	if !strings.Contains(read(t, layout, loaded[0].Config), `"architecture":"`+runtime.GOARCH+`"`) {
		t.Errorf("docker load reads the image of another architecture: %s", read(t, layout, loaded[0].Config))
	}
	if !strings.Contains(read(t, layout, "index.json"), `"io.containerd.image.name":"`+name+`"`) {
		t.Errorf("containerd imports another name: %s", read(t, layout, "index.json"))
	}
	if workflow := read(t, "../..", ".github/workflows/publish.yml"); !strings.Contains(workflow, "docker://"+product.Image+":") {
		t.Errorf("the workflow publish pushes the image to another registry than %s", product.Image)
	}
}
