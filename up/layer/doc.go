// Package layer implements the layers of the gateway of junction up. Rules, limits, reviews, the
// audit log and all other handling of requests between clients and servers are layers.
//
// [All] returns the table of layers, in the order of the chain. A [Stack] holds the state of layers
// that lasts as long as a gateway, such as an open log. A [Plan] is the result of reading the
// settings once. Package up wraps a gateway in the layers of both.
//
// A new layer is a new row of the table, with its functions in a separate file. Its settings are
// fields in package config/settings.
package layer
