package main

import (
	"errors"

	"github.com/junction-mcp/junction/mcp"
)

func serveHTTP(addr string, s *mcp.Server, stateless bool) error { return errors.New("later") }
