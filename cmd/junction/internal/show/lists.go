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

// indent is the number of columns by which the details of an item are indented.
const indent = 4

// maxName is the maximum length of a displayed name or URI, in runes.
const maxName = 200

// each formats all items with show, and separates them with empty lines.
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

// Tools formats tools with their descriptions and arguments.
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

// ToolLines formats each tool in one line: its name, and the first sentence of its description.
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
	gap       = 2  // columns between two cells, and before the first
	leastText = 12 // minimum columns for a text; with fewer, the text is omitted
)

// firstSentence returns the first sentence of a text, or its first line if that is shorter.
func firstSentence(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if end := strings.Index(line, ". "); end >= 0 && !strings.HasSuffix(line[:end], "e.g") && !strings.HasSuffix(line[:end], "i.e") {
		line = line[:end+1]
	}
	return line
}

// Cut shortens a text to one line that fits into the given number of columns. It returns the empty
// string if there are too few columns.
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

// views describes how a tool relates to views (MCP Apps).
func views(t *mcp.Tool) string {
	switch link := apps.Of(t.Meta); {
	case !link.For(apps.Model):
		return "for views only"
	case link.URI != "":
		return "view " + link.URI
	}
	return ""
}

// hints describes the annotations of a tool, such as "read-only".
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

// maxType is the maximum width of the type column of a table, in terminal columns.
const maxType = 18

// row returns the table row for an argument.
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

// Resources formats resources as text.
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

// Skills formats skills with their descriptions.
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

// Templates formats resource templates as text.
func Templates(templates []*mcp.ResourceTemplate, width int) string {
	return each(templates, func(out *strings.Builder, t *mcp.ResourceTemplate) {
		heading(out, t.URITemplate, cmp.Or(t.Title, t.Name), t.MIMEType)
		paragraph(out, t.Description, width)
	})
}

// Prompts formats prompts with their arguments.
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

// heading writes a name, followed by the details in parentheses.
func heading(out *strings.Builder, name string, details ...string) {
	var shown []string
	for _, d := range details {
		if d = plaintext.Line(d, maxName); d != "" && !strings.EqualFold(d, name) {
			shown = append(shown, d)
		}
	}
	out.WriteString(plaintext.Line(name, maxName))
	if len(shown) > 0 {
		out.WriteString("  (" + strings.Join(shown, ", ") + ")")
	}
	out.WriteByte('\n')
}

func paragraph(out *strings.Builder, text string, width int) {
	if text = terminal.Wrap(plaintext.Clean(text), indent, width); text != "" {
		out.WriteString(text + "\n")
	}
}

// Size formats a number of bytes, such as "1.5 KiB".
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
