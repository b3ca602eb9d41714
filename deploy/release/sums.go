package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"aead.dev/minisign"
	"github.com/CycloneDX/cyclonedx-go"
	"github.com/junction-mcp/junction/deploy/internal/product"
)

// materials writes, for each platform, the modules that the binary contains, as CycloneDX.
func (r *release) materials(context.Context) error {
	for _, p := range r.platforms {
		info, err := buildinfo.Read(bytes.NewReader(r.binaries[p.String()]))
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		bom := cyclonedx.NewBOM()
		bom.Metadata = &cyclonedx.Metadata{
			Timestamp: r.when.Format(time.RFC3339),
			Component: &cyclonedx.Component{
				BOMRef: "junction", Type: cyclonedx.ComponentTypeApplication, Name: "junction", Version: r.version, PackageURL: purl(info.Main.Path, "v"+r.version),
				Licenses: &cyclonedx.Licenses{{License: &cyclonedx.License{ID: product.License}}},
				Hashes:   &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: sum(r.binaries[p.String()])}},
			},
		}
		components := []cyclonedx.Component{component("std", info.GoVersion)}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			components = append(components, component(m.Path, m.Version))
		}
		bom.Components = &components
		uses := make([]string, len(components))
		for i, c := range components {
			uses[i] = c.BOMRef
		}
		bom.Dependencies = &[]cyclonedx.Dependency{{Ref: "junction", Dependencies: &uses}}
		var b bytes.Buffer
		if err := cyclonedx.NewBOMEncoder(&b, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
			return err
		}
		if err := r.write("junction_"+r.version+"_"+p.String()+".cdx.json", b.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func component(path, version string) cyclonedx.Component {
	at := purl(path, version)
	return cyclonedx.Component{BOMRef: at, Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: at}
}

// purl returns the package URL of a Go module.
func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
}

// sums writes SHA256SUMS in the form of sha256sum, and its signature.
func (r *release) sums(context.Context) error {
	slices.SortFunc(r.written, func(a, b written) int { return cmp.Compare(a.name, b.name) })
	var b bytes.Buffer
	for _, w := range r.written {
		fmt.Fprintf(&b, "%s  %s\n", w.sum, w.name)
	}
	if err := r.write("SHA256SUMS", b.Bytes()); err != nil {
		return err
	}
	if r.key == "" {
		return nil
	}
	text, err := os.ReadFile(r.key)
	if err != nil {
		return err
	}
	var key minisign.PrivateKey
	if minisign.IsEncrypted(text) {
		password := os.Getenv("MINISIGN_PASSWORD")
		if password == "" {
			return errors.New("the key has a password: set MINISIGN_PASSWORD")
		}
		key, err = minisign.DecryptKey(password, text)
	} else {
		err = key.UnmarshalText(text)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", r.key, err)
	}
	comment := "junction " + r.version + " SHA256SUMS"
	return r.write("SHA256SUMS.minisig", minisign.SignWithComments(key, b.Bytes(), comment, "signature of Junction "+r.version))
}
