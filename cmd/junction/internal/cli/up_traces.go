package cli

// A TelemetryResource is what collectors get to know of this process.
type TelemetryResource struct {
	Service    string
	Attributes map[string]string
}
