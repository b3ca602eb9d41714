package main

import (
	"context"
	"fmt"
	"os"

	"github.com/junction-mcp/junction/internal/formfill"
)

// asBrowser makes the test binary be the browser of a user who logs in and allows everything.
const asBrowser = "browse for junction"

// browse logs in at a page, as a user whose name and password are in the environment.
func browse(page string) int {
	b := formfill.New(map[string]string{"username": os.Getenv("TEST_USER"), "password": os.Getenv("TEST_PASSWORD"), "decision": "allow"}, nil)
	if _, err := b.Visit(context.Background(), page, nil); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
