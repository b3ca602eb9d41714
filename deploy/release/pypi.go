package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/deploy/internal/product"
)

//go:embed pypi/__main__.py
var pythonProgram []byte

// wheels writes a wheel of the package junction-mcp for each platform. Its commands junction and
// junction-mcp replace themselves by the binary.
func (r *release) wheels(context.Context) error {
	for _, p := range r.platforms {
		info := "junction_mcp-" + r.version + ".dist-info/"
		var wheel bytes.Buffer
		wheel.WriteString("Wheel-Version: 1.0\nGenerator: junction-release\nRoot-Is-Purelib: false\n")
		for _, tag := range p.wheel {
			fmt.Fprintf(&wheel, "Tag: py3-none-%s\n", tag)
		}
		metadata := fmt.Sprintf("Metadata-Version: 2.4\nName: junction-mcp\nVersion: %s\nSummary: %s\nLicense-Expression: %s\nLicense-File: LICENSE\n"+
			"Project-URL: Homepage, %s\nRequires-Python: >=3.9\nDescription-Content-Type: text/markdown\n\n<!-- mcp-name: %s -->\n\n%s",
			r.version, product.Summary, product.License, product.Homepage, product.Server, r.texts["README.md"])
		entries := []entry{
			{"junction_mcp/__init__.py", nil, false},
			{"junction_mcp/__main__.py", pythonProgram, false},
			{"junction_mcp/bin/" + p.program(), r.binaries[p.String()], true},
			{info + "METADATA", []byte(metadata), false},
			{info + "WHEEL", wheel.Bytes(), false},
			{info + "entry_points.txt", []byte("[console_scripts]\njunction = junction_mcp.__main__:main\njunction-mcp = junction_mcp.__main__:main\n"), false},
			{info + "licenses/LICENSE", r.texts["LICENSE"], false},
		}
		var record bytes.Buffer
		for _, e := range entries {
			sum := sha256.Sum256(e.data)
			fmt.Fprintf(&record, "%s,sha256=%s,%d\n", e.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(e.data))
		}
		fmt.Fprintf(&record, "%sRECORD,,\n", info)
		data, err := zipped(append(entries, entry{info + "RECORD", record.Bytes(), false}), r.when)
		if err != nil {
			return err
		}
		if err := r.write("junction_mcp-"+r.version+"-py3-none-"+strings.Join(p.wheel, ".")+".whl", data); err != nil {
			return err
		}
	}
	return nil
}
