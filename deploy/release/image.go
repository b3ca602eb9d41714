package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/junction-mcp/junction/deploy/internal/product"
)

// image writes the container image for all architectures of Linux.
func (r *release) image(ctx context.Context) error {
	var arches []string
	for _, p := range r.platforms {
		if p.os == "linux" {
			arches = append(arches, p.arch)
		}
	}
	if len(arches) == 0 {
		return nil
	}
	file := filepath.Join(r.work, "image.tar")
	_, err := output(ctx, filepath.Join(r.root, "deploy"), "go", "run", "./image",
		"-out", file, "-name", product.Image, "-tag", r.version, "-arch", strings.Join(arches, ","), "-binaries", r.work)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return r.write("junction_"+r.version+"_image.tar", data)
}
