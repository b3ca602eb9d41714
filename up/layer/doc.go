// Package layer has the layers of the gateway of junction up: rules, limits, reviews, the audit log and all else that is done to
// requests between clients and servers.
//
// [All] returns them as rows of one table, whose order is the order in the chain. A [Stack] holds what layers keep as long as a gateway
// runs, such as an open log, and a [Plan] what one reading of the settings makes of them. Package up puts both around a gateway.
//
// A new layer is a row of the table, with its functions in a file of its own. Its settings are fields of package config/settings.
package layer
