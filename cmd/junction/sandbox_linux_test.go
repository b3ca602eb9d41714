package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)
