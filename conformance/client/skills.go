package main

import (
	"context"
	"errors"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
)

// listSkills lists the skills and reads none.
func listSkills(ctx context.Context, c *mcp.Client, _ details) error {
	_, _, err := skills.List(ctx, c)
	return err
}

// loadSkills reads the files of every skill, SKILL.md first. It returns an error for a file that
// differs from its entry.
func loadSkills(ctx context.Context, c *mcp.Client, _ details) error {
	all, faults, err := skills.List(ctx, c)
	if err := errors.Join(append(faults, err)...); err != nil {
		return err
	}
	for _, s := range all {
		if _, err := s.Read(ctx, c, s.URI); err != nil {
			return err
		}
		for _, f := range s.Files {
			if _, err := s.Read(ctx, c, f.URI); err != nil {
				return err
			}
		}
	}
	return nil
}
