package show

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/arguments"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/apps"
	"github.com/junction-mcp/junction/mcp/skills"
)

// indent is how far what belongs to a name stands to its right.
const indent = 4

// maxName is how much of a name or URI is shown, in runes.
const maxName = 200

// each shows one item after the other, with an empty line between two.
func each[T any](items []T, show func(out *strings.Builder, item T)) string {
	var out strings.Builder
	for i, item := range items {
		if i > 0 {
			out.WriteByte('\n')
		}
		show(&out, item)
	}
	return out.String()
}

// Tools lists tools with their descriptions and arguments.
func Tools(tools []*mcp.Tool, width int) string {
	return each(tools, func(out *strings.Builder, t *mcp.Tool) {
		title := t.Title
		if title == "" && t.Annotations != nil {
			title = t.Annotations.Title
		}
		heading(out, t.Name, title, hints(t.Annotations), views(t))
		paragraph(out, t.Description, width)
		var rows [][]string
		for _, f := range arguments.Fields(t.InputSchema) {
			rows = append(rows, row(f))
		}
		out.WriteString(terminal.Table(rows, indent, width))
	})
}

// ToolLines lists tools in a line each: the name, and the first sentence of the
// description.
func ToolLines(tools []*mcp.Tool, width int) string {
	widest := 0
	for _, t := range tools {
		if cells := terminal.Width(plaintext.Line(t.Name, maxName)); cells <= (width-gap)/2 {
			widest = max(widest, cells)
		}
	}
	var out strings.Builder
	for _, t := range tools {
		name := plaintext.Line(t.Name, maxName)
		line := strings.Repeat(" ", gap) + name + strings.Repeat(" ", max(widest-terminal.Width(name), 0)+gap)
		line += Cut(firstSentence(t.Description), width-terminal.Width(line))
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return out.String()
}

const (
	gap       = 2  // cells between columns, and before the first
	leastText = 12 // cells that are worth filling
)

// firstSentence is the first sentence of a text, or its first line.
func firstSentence(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if end := strings.Index(line, ". "); end >= 0 && !strings.HasSuffix(line[:end], "e.g") && !strings.HasSuffix(line[:end], "i.e") {
		line = line[:end+1]
	}
	return line
}

// Cut is a line of at most so many cells; nothing where there are too few.
func Cut(text string, cells int) string {
	if cells < leastText {
		return ""
	}
	line := plaintext.Line(text, cells)
	for runes := cells; terminal.Width(line) > cells; runes-- {
		line = plaintext.Line(text, runes)
	}
	return line
}

// views is what a tool says of views (MCP Apps).
func views(t *mcp.Tool) string {
	switch link := apps.Of(t.Meta); {
	case !link.For(apps.Model):
		return "for views only"
	case link.URI != "":
		return "view " + link.URI
	}
	return ""
}

// hints are what a tool says it does.
func hints(a *mcp.ToolAnnotations) string {
	if a == nil {
		return ""
	}
	is := func(hint *bool) bool { return hint != nil && *hint }
	switch {
	case is(a.ReadOnlyHint):
		return "read-only"
	case is(a.DestructiveHint):
		return "destructive"
	}
	return ""
}

// maxType is the widest type that stands in the column of its own, in cells.
const maxType = 18

// row is a line of a table of arguments.
func row(f arguments.Field) []string {
	required := "optional"
	if f.Required {
		required = "required"
	}
	description := cmp.Or(f.Description, f.Title)
	kind := plaintext.Line(f.Type, maxName)
	if len(f.Choices) > 0 && terminal.Width(kind) > maxType {
		kind = "choice"
		description += " (one of " + plaintext.Line(strings.Join(f.Choices, ", "), maxName) + ")"
	}
	if f.Default != nil {
		description += " (default " + plaintext.Line(string(f.Default), 60) + ")"
	}
	return []string{plaintext.Line(f.Name, maxName), kind, required, strings.TrimSpace(description)}
}

// Resources lists resources.
func Resources(resources []*mcp.Resource, width int) string {
	return each(resources, func(out *strings.Builder, r *mcp.Resource) {
		size := ""
		if r.Size != nil {
			size = Size(*r.Size)
		}
		heading(out, r.URI, cmp.Or(r.Title, r.Name), r.MIMEType, size)
		paragraph(out, r.Description, width)
	})
}

// Skills lists skills with what they are for.
func Skills(all []*skills.Skill, width int) string {
	return each(all, func(out *strings.Builder, s *skills.Skill) {
		size, files := int64(0), "made at each read"
		for _, f := range s.Files {
			size += f.Size
		}
		switch {
		case len(s.Files) == 1:
			files = "1 file, " + Size(size)
		case !s.Dynamic:
			files = strconv.Itoa(len(s.Files)) + " files, " + Size(size)
		}
		heading(out, s.Name(), s.URI, files)
		paragraph(out, s.Description(), width)
	})
}

// Templates lists resource templates.
func Templates(templates []*mcp.ResourceTemplate, width int) string {
	return each(templates, func(out *strings.Builder, t *mcp.ResourceTemplate) {
		heading(out, t.URITemplate, cmp.Or(t.Title, t.Name), t.MIMEType)
		paragraph(out, t.Description, width)
	})
}

// Prompts lists prompts with their arguments.
func Prompts(prompts []*mcp.Prompt, width int) string {
	return each(prompts, func(out *strings.Builder, p *mcp.Prompt) {
		heading(out, p.Name, p.Title)
		paragraph(out, p.Description, width)
		var rows [][]string
		for _, a := range p.Arguments {
			rows = append(rows, row(arguments.Field{Name: a.Name, Type: "string", Required: a.Required, Title: a.Title, Description: a.Description}))
		}
		out.WriteString(terminal.Table(rows, indent, width))
	})
}

// heading is a name and, in parentheses, what else there is to say of it.
func heading(out *strings.Builder, name string, details ...string) {
	var said []string
	for _, d := range details {
		if d = plaintext.Line(d, maxName); d != "" && !strings.EqualFold(d, name) {
			said = append(said, d)
		}
	}
	out.WriteString(plaintext.Line(name, maxName))
	if len(said) > 0 {
		out.WriteString("  (" + strings.Join(said, ", ") + ")")
	}
	out.WriteByte('\n')
}

func paragraph(out *strings.Builder, text string, width int) {
	if text = terminal.Wrap(plaintext.Clean(text), indent, width); text != "" {
		out.WriteString(text + "\n")
	}
}

// Size is a number of bytes for people.
func Size(bytes int64) string {
	switch {
	case bytes == 1:
		return "1 byte"
	case bytes < 1<<10:
		return strconv.FormatInt(bytes, 10) + " bytes"
	case bytes < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}
