package main

import (
	"github.com/junction-mcp/junction/cmd/junction/internal/live"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
)

var _ live.Gateway = (*up.LiveUp)(nil)
