package main

import (
	"embed"
	"io/fs"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
)

//go:embed skills
var skillFiles embed.FS

// addSkills serves the skills in the folder skills.
func addSkills(s *mcp.Server) {
	tree, err := fs.Sub(skillFiles, "skills")
	must(err)
	_, err = skills.Add(s, tree)
	must(err)
}
