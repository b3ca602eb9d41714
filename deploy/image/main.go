// Image builds the container image of Junction, without a container engine:
//
//	go run -C deploy ./image -out /tmp/junction.tar -tag 0.1.0
//
// The image has no base. It contains a static binary, the certificates of Mozilla's authorities, a
// user without rights, and the folders that Junction writes to. The file is an image layout of the
// Open Container Initiative, which also carries the manifest of docker load. The same sources, tag
// and Go release make the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/deploy/internal/compile"
	"github.com/junction-mcp/junction/deploy/internal/product"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/crypto/x509roots/fallback/bundle"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"
)

// user is the number of the user and the group that run the binary.
const user = 65532

// The folders that Junction writes to. All else may be read-only.
const (
	stateFolder = "var/lib/junction"
	cacheFolder = "var/cache/junction"
)

func main() {
	out := flag.String("out", "", "write the image to this `FILE`, a tar archive, or to a folder if it ends in /")
	name := flag.String("name", "junction", "`NAME` of the image")
	tag := flag.String("tag", "", "`TAG` of the image")
	arch := flag.String("arch", "amd64,arm64", "build for these `ARCHITECTURES`")
	binaries := flag.String("binaries", "", "use the binaries linux_amd64/junction and so on in this `FOLDER` and build none")
	flag.Parse()
	if *out == "" || *tag == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := build(context.Background(), *out, *name, *tag, *binaries, strings.Split(*arch, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// build builds the image for each architecture, and writes all to out. Without a folder of binaries
// it builds these, too.
func build(ctx context.Context, out, name, tag, binaries string, arches []string) (err error) {
	work, err := os.MkdirTemp("", "junction-image-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	layout := filepath.Join(work, "layout")
	if strings.HasSuffix(out, "/") {
		layout = out
	}
	store, err := oci.NewWithContext(ctx, layout)
	if err != nil {
		return err
	}
	index := ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex}
	var images []image
	for _, arch := range arches {
		binary := filepath.Join(work, "junction-"+arch)
		if binaries != "" {
			binary = filepath.Join(binaries, "linux_"+arch, "junction")
		} else if err := compileFor(ctx, binary, arch); err != nil {
			return err
		}
		one, err := push(ctx, store, binary, arch)
		if err != nil {
			return err
		}
		images, index.Manifests = append(images, one), append(index.Manifests, one.manifest)
	}
	described, err := pushJSON(ctx, store, ocispec.MediaTypeImageIndex, index)
	if err != nil {
		return err
	}
	if err := store.Tag(ctx, described, tag); err != nil {
		return err
	}
	fmt.Printf("%s:%s %s\n", name, tag, described.Digest)
	if layout == out {
		return nil
	}
	if err := nameIndex(layout, described, name, tag); err != nil {
		return err
	}
	if err := loadable(layout, images, name+":"+tag); err != nil {
		return err
	}
	return archive(out, layout)
}

// compileFor builds the static binary for an architecture of Linux.
func compileFor(ctx context.Context, to, arch string) error {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/junction-mcp/junction").Output()
	if err != nil {
		return fmt.Errorf("the sources are not found: run it in the folder deploy: %w", err)
	}
	return compile.Program(ctx, strings.TrimSpace(string(root)), to, "linux", arch, false)
}

// An image is one image of the index.
type image struct {
	manifest, config, layer ocispec.Descriptor
}

// push writes the image of one binary to the store.
func push(ctx context.Context, store content.Pusher, binary, arch string) (i image, err error) {
	plain, err := layer(binary)
	if err != nil {
		return i, err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return i, err
	}
	if _, err := w.Write(plain); err != nil {
		return i, err
	}
	if err := w.Close(); err != nil {
		return i, err
	}
	if i.layer, err = pushBytes(ctx, store, ocispec.MediaTypeImageLayerGzip, packed.Bytes()); err != nil {
		return i, err
	}
	began := time.Unix(0, 0).UTC()
	platform := ocispec.Platform{Architecture: arch, OS: "linux"}
	i.config, err = pushJSON(ctx, store, ocispec.MediaTypeImageConfig, ocispec.Image{
		Created: &began, Platform: platform,
		Config: ocispec.ImageConfig{
			User: fmt.Sprintf("%d:%d", user, user), WorkingDir: "/" + stateFolder,
			Env:        []string{"PATH=/", "HOME=/" + stateFolder, "JUNCTION_STATE=/" + stateFolder, "XDG_CACHE_HOME=/" + cacheFolder, "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
			Entrypoint: []string{"/junction"}, Cmd: []string{"up", "--config", "/etc/junction/mcp.json", "--http", "0.0.0.0:7717"},
			ExposedPorts: map[string]struct{}{"7717/tcp": {}, "9464/tcp": {}},
			Volumes:      map[string]struct{}{"/" + stateFolder: {}, "/" + cacheFolder: {}},
			StopSignal:   "SIGTERM",
			Labels:       map[string]string{"org.opencontainers.image.title": "Junction", "org.opencontainers.image.licenses": product.License, "io.modelcontextprotocol.server.name": product.Server},
		},
		RootFS:  ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromBytes(plain)}},
		History: []ocispec.History{{Created: &began, CreatedBy: "deploy/image"}},
	})
	if err != nil {
		return i, err
	}
	i.manifest, err = pushJSON(ctx, store, ocispec.MediaTypeImageManifest, ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Config: i.config, Layers: []ocispec.Descriptor{i.layer},
	})
	i.manifest.Platform = &platform
	return i, err
}

func pushJSON(ctx context.Context, store content.Pusher, mediaType string, v any) (ocispec.Descriptor, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return pushBytes(ctx, store, mediaType, b)
}

func pushBytes(ctx context.Context, store content.Pusher, mediaType string, b []byte) (ocispec.Descriptor, error) {
	d := content.NewDescriptorFromBytes(mediaType, b)
	return d, store.Push(ctx, d, bytes.NewReader(b))
}

// layer returns the archive of all files of the image.
func layer(binary string) ([]byte, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range []struct {
		name  string
		mode  int64
		owner int
		body  []byte
	}{
		{"etc/", 0o755, 0, nil},
		{"etc/group", 0o644, 0, fmt.Appendf(nil, "root:x:0:\njunction:x:%d:\n", user)},
		{"etc/junction/", 0o755, 0, nil},
		{"etc/passwd", 0o644, 0, fmt.Appendf(nil, "root:x:0:0:root:/:/none\njunction:x:%d:%d:junction:/%s:/none\n", user, user, stateFolder)},
		{"etc/ssl/", 0o755, 0, nil},
		{"etc/ssl/certs/", 0o755, 0, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, 0, authorities()},
		{"junction", 0o755, 0, program},
		{"tmp/", 0o1777, 0, nil},
		{"var/", 0o755, 0, nil},
		{"var/cache/", 0o755, 0, nil},
		{cacheFolder + "/", 0o700, user, nil},
		{"var/lib/", 0o755, 0, nil},
		{stateFolder + "/", 0o700, user, nil},
	} {
		h := &tar.Header{Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.body)), ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.body); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), w.Close()
}

// authorities returns the certificates of the authorities that Mozilla trusts without a condition.
func authorities() (text []byte) {
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate})...)
		}
	}
	return text
}

// nameIndex writes index.json again, with the name by which containerd imports the image.
func nameIndex(layout string, index ocispec.Descriptor, name, tag string) error {
	index.Annotations = map[string]string{ocispec.AnnotationRefName: tag, "io.containerd.image.name": full(name) + ":" + tag}
	b, err := json.Marshal(ocispec.Index{Versioned: specs.Versioned{SchemaVersion: 2}, Manifests: []ocispec.Descriptor{index}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(layout, ocispec.ImageIndexFile), b, 0o644)
}

// full returns the name of an image with its registry, as container engines complete it.
func full(name string) string {
	host, _, found := strings.Cut(name, "/")
	switch {
	case !found:
		return "docker.io/library/" + name
	case host != "localhost" && !strings.ContainsAny(host, ".:"):
		return "docker.io/" + name
	}
	return name
}

// loadable writes the manifest of docker load, which takes the image for the architecture of this
// machine, or else the first one.
func loadable(layout string, images []image, name string) error {
	at := max(0, slices.IndexFunc(images, func(i image) bool { return i.manifest.Platform.Architecture == runtime.GOARCH }))
	blob := func(d ocispec.Descriptor) string { return "blobs/sha256/" + d.Digest.Encoded() }
	b, err := json.Marshal([]map[string]any{{"Config": blob(images[at].config), "RepoTags": []string{name}, "Layers": []string{blob(images[at].layer)}}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(layout, "manifest.json"), b, 0o644)
}

// archive writes the files of a layout to an archive, sorted by name.
func archive(out, layout string) (err error) {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, f.Close()) }()
	w := tar.NewWriter(f)
	err = filepath.WalkDir(layout, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(layout, path)
		if err != nil || rel == "." || rel == "ingest" {
			return err
		}
		h := &tar.Header{Name: filepath.ToSlash(rel), Mode: 0o644, ModTime: time.Unix(0, 0), Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if d.IsDir() {
			h.Name, h.Mode, h.Typeflag = h.Name+"/", 0o755, tar.TypeDir
			return w.WriteHeader(h)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		h.Size = info.Size()
		from, err := os.Open(path)
		if err != nil {
			return err
		}
		defer from.Close()
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		_, err = io.Copy(w, from)
		return err
	})
	return cmp.Or(err, w.Close())
}
