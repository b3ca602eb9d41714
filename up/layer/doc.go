// Package layer implements the layers of the gateway of junction up: rules, limits, reviews, the
// audit log and all other handling of requests between clients and servers.
//
// [All] returns the layers as rows of one table, in the order of the chain. A [Stack] holds the
// state of layers that lasts as long as a gateway, such as an open log. A [Plan] holds the result
// of reading the settings once. Package up puts both around a gateway.
//
// A new layer is a row of the table, with its functions in a file of its own. Its settings are
// fields of package config/settings.
package layer
