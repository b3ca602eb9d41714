package main

import (
	"github.com/junction-mcp/junction/internal/why"
)

// reason is the one line that matters of why a server cannot be used, without its name.
func reason(err error, name string) string { return why.Of(err, name) }

// once is the text of an error that names its server once.
func once(text string) string { return why.Once(text) }

// plainText is the text of an error without the words of Go's own library.
func plainText(err error) string { return why.Text(err) }

// lineThatMatters is the line of a program's standard error that says why it failed.
func lineThatMatters(lines []string) string { return why.Line(lines) }
