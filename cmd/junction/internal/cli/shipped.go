package cli

// ShippedNames are the servers that ship with junction.
func ShippedNames() []string {
	return []string{"everything", "fetch", "filesystem", "graphql", "http", "memory", "openapi", "sql", "time"}
}
