package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/deploy/internal/imagetest"
	"github.com/junction-mcp/junction/deploy/internal/product"
)

// checkImages checks the image of a release for each of its architectures, and returns all.
func checkImages(t *testing.T, folder string, arches ...string) (images []imagetest.Image) {
	t.Helper()
	layout, version := unpackImage(t, folder)
	checkLoadable(t, layout, version)
	images = imagetest.Read(t, layout, version)
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
	return images
}

// checkImage checks the image of a release for this machine, pushes and imports it, and calls a tool
// of it, run as a container engine runs it.
func checkImage(t *testing.T, folder string) {
	own := checkImages(t, folder, runtime.GOARCH)[0]
	t.Run("push", func(t *testing.T) { checkPush(t, folder) })
	t.Run("import", func(t *testing.T) { checkImport(t, folder) })
	if os.Getuid() != 0 {
		t.Skip("only root can change the root folder and the user")
	}
	root := filepath.Join(t.TempDir(), "root")
	must(t, os.Mkdir(root, 0o755))
	own.Unpack(t, root)
	if got := callWith(t, own.Arguments(t, root, nil, "up", "--stdio"), own.Environment()); got != "hello" {
		t.Errorf("echo returned %q", got)
	}
}

// checkPush copies the image of all architectures as the workflow publish does, but to a folder.
func checkPush(t *testing.T, folder string) {
	if _, err := exec.LookPath("skopeo"); err != nil {
		t.Skip("skopeo is not installed")
	}
	file, version := imageFile(t, folder)
	pushed := t.TempDir()
	do(t, pushed, "skopeo", "--insecure-policy", "copy", "--all", "oci-archive:"+file+":"+version, "oci:"+pushed+":"+version)
	imagetest.Read(t, pushed, version)
}

// checkImport imports the image into containerd, as the nodes of a cluster do, and runs it there.
func checkImport(t *testing.T, folder string) {
	if _, err := exec.LookPath("containerd"); err != nil || os.Getuid() != 0 {
		t.Skip("containerd is not installed, or this is not root")
	}
	at := t.TempDir()
	socket := filepath.Join(at, "s")
	must(t, os.WriteFile(filepath.Join(at, "config.toml"), fmt.Appendf(nil, "version = 2\nroot = %q\nstate = %q\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\naddress = %q\n[ttrpc]\naddress = %q\n",
		filepath.Join(at, "root"), filepath.Join(at, "state"), socket, socket+".ttrpc"), 0o600))
	ctx, stop := context.WithCancel(t.Context())
	daemon := exec.CommandContext(ctx, "containerd", "--config", filepath.Join(at, "config.toml"), "--log-level", "error")
	daemon.Stdout, daemon.Stderr = t.Output(), t.Output()
	daemon.Cancel, daemon.WaitDelay = func() error { return daemon.Process.Signal(syscall.SIGTERM) }, 20*time.Second
	must(t, daemon.Start())
	defer func() {
		stop()
		_ = daemon.Wait()
	}()
	for range 600 {
		if exec.CommandContext(ctx, "ctr", "--address", socket, "version").Run() == nil {
			break
		}
		time.Sleep(50 * time.Millisecond) // another program starts
	}
	file, version := imageFile(t, folder)
	name := product.Image + ":" + version
	do(t, at, "ctr", "--address", socket, "images", "import", file)
	if printed := do(t, at, "ctr", "--address", socket, "run", "--rm", "--read-only", "--snapshotter", "native", name, "junction", "/junction", "version"); !strings.HasPrefix(printed, "junction "+version) {
		t.Errorf("the container prints %s", printed)
	}
}

// unpackImage unpacks the image of a release into its layout.
func unpackImage(t *testing.T, folder string) (layout, version string) {
	t.Helper()
	file, version := imageFile(t, folder)
	layout = t.TempDir()
	do(t, layout, "tar", "-xf", file)
	return layout, version
}

// imageFile returns the file with the image of a release, and the version in its name.
func imageFile(t *testing.T, folder string) (file, version string) {
	t.Helper()
	file = one(t, folder, "junction_*_image.tar")
	return file, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "junction_"), "_image.tar")
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
