// Package imagetest helps tests to read an image layout of the Open Container Initiative, and to
// run the image as a container engine does.
package imagetest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content/oci"
)

// An Image is the image for one architecture.
type Image struct {
	Config ocispec.Image
	Layer  []byte // compressed
}

// Read reads the images of a layout, a folder, that have a tag, and checks what refers to what.
func Read(t *testing.T, layout, tag string) (images []Image) {
	t.Helper()
	store, err := oci.NewFromFS(t.Context(), os.DirFS(layout))
	must(t, err)
	described, err := store.Resolve(t.Context(), tag)
	must(t, err)
	index := blob[ocispec.Index](t, layout, described)
	for _, d := range index.Manifests {
		manifest := blob[ocispec.Manifest](t, layout, d)
		if len(manifest.Layers) != 1 {
			t.Fatalf("the image for %v has %d layers", d.Platform, len(manifest.Layers))
		}
		image := Image{blob[ocispec.Image](t, layout, manifest.Config), bytesOf(t, layout, manifest.Layers[0])}
		z, err := gzip.NewReader(bytes.NewReader(image.Layer))
		must(t, err)
		plain, err := digest.FromReader(z)
		must(t, err)
		if d.Platform == nil || d.Platform.Architecture != image.Config.Architecture || len(image.Config.RootFS.DiffIDs) != 1 || plain != image.Config.RootFS.DiffIDs[0] {
			t.Errorf("the index names %v, and the image is %+v with the layer %s", d.Platform, image.Config, plain)
		}
		images = append(images, image)
	}
	return images
}

// blob reads a blob of a layout.
func blob[T any](t *testing.T, layout string, d ocispec.Descriptor) (v T) {
	t.Helper()
	must(t, json.Unmarshal(bytesOf(t, layout, d), &v))
	return v
}

func bytesOf(t *testing.T, layout string, d ocispec.Descriptor) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(layout, "blobs", "sha256", d.Digest.Encoded()))
	must(t, err)
	if got := digest.FromBytes(text); got != d.Digest {
		t.Errorf("%s has the sum %s", d.Digest, got)
	}
	return text
}

// Unpack unpacks the image into a folder, with the owners of its files if the test runs as root.
func (i Image) Unpack(t *testing.T, root string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(i.Layer))
	must(t, err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		must(t, err)
		path := filepath.Join(root, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.Mkdir(path, h.FileInfo().Mode())
		} else {
			var b []byte
			if b, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, b, h.FileInfo().Mode())
			}
		}
		must(t, err)
		if os.Getuid() == 0 {
			must(t, os.Chown(path, h.Uid, h.Gid))
		}
	}
}

// Arguments returns the command line that runs the image, unpacked into root, as its user and with
// everything read-only but its volumes. A volume is empty, or a folder of outside. Only root can run
// it.
func (i Image) Arguments(t *testing.T, root string, outside map[string]string, args ...string) []string {
	t.Helper()
	if err := os.Mkdir(filepath.Join(root, "proc"), 0o555); err != nil && !errors.Is(err, os.ErrExist) { // as container engines do
		t.Fatal(err)
	}
	mounts := "mount --bind $0 $0 && mount -o remount,bind,ro $0 && mount -t proc proc $0/proc"
	for volume := range i.Config.Config.Volumes {
		if folder := outside[volume]; folder != "" {
			mounts += " && mount --bind " + folder + " $0" + volume
		} else {
			mounts += " && mount -t tmpfs -o uid=65532,gid=65532,mode=700 tmpfs $0" + volume
		}
	}
	args = append(append([]string{}, i.Config.Config.Entrypoint...), args...)
	return append([]string{"unshare", "-m", "sh", "-c", mounts + ` && exec chroot --userspec=` + i.Config.Config.User + ` $0 "$@"`, root}, args...)
}

// Environment returns the variables of the image, with a PATH that finds unshare and chroot.
func (i Image) Environment() []string {
	env := []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	for _, v := range i.Config.Config.Env {
		if !strings.HasPrefix(v, "PATH=") {
			env = append(env, v)
		}
	}
	return env
}

// Command returns the command of Arguments with the variables of the image. SIGTERM ends it with
// ctx.
func (i Image) Command(ctx context.Context, t *testing.T, root string, outside map[string]string, args ...string) *exec.Cmd {
	t.Helper()
	line := i.Arguments(t, root, outside, args...)
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = i.Environment()
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, 20*time.Second
	return cmd
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
