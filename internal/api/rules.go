package api

import (
	"slices"
	"strings"

	"freshet/internal/api/rest"
	"freshet/internal/auth/access"
	"freshet/ui"
)

// ruleOf returns the rule of a route.
func ruleOf(pattern string) rest.Rule {
	if r, ok := rules[pattern]; ok {
		return r
	}
	if path, ok := strings.CutPrefix(pattern, "GET "); ok && slices.Contains(ui.Screens, path) {
		return anybody // the page itself shows only who the caller is
	}
	return admin
}

// Rules that many routes share.
var (
	anybody    = rest.Rule{}
	probe      = rest.Rule{Probe: true}
	reader     = rest.Rule{Need: access.Read}
	writer     = rest.Rule{Need: access.Write}
	trial      = rest.Rule{Need: access.Write, Quiet: true}
	admin      = rest.Rule{Need: access.Administer}
	ofList     = rest.Rule{Need: access.Read, Tag: rest.TagParam}
	ofSourceID = rest.Rule{Need: access.Read, Share: rest.SourceShare, Tag: rest.TagPath}
	editSource = rest.Rule{Need: access.Write, Tag: rest.TagPath}
	ofURL      = rest.Rule{Need: access.Read, Share: rest.FoundShare, Tag: rest.TagFound}
	ofQueryID  = rest.Rule{Need: access.Read, Share: rest.QueryShare}
)

// repeatable returns a rule for requests that are performed again if they were interrupted.
func repeatable(r rest.Rule) rest.Rule {
	r.Repeatable = true
	return r
}

// rules has the rules of all routes. A route without one is open to admins only, and a test fails.
var rules = map[string]rest.Rule{
	"GET /healthz":               probe,
	"GET /readyz":                probe,
	"GET /metrics":               reader,
	"GET /openapi.json":          anybody,
	"GET /openapi.yaml":          anybody,
	"GET /openapi-3.0.json":      anybody,
	"GET /openapi-3.0.yaml":      anybody,
	"GET /assets/{name}":         anybody,
	"GET /docs/{file...}":        anybody,
	"POST /api/v1/hooks/{token}": {Quiet: true, Repeatable: true}, // the token in the path authenticates
	"GET /api/v1/websub/{token}": anybody,                         // the token in the path authenticates
	"POST /api/v1/websub/{token}": {
		Quiet: true,
	},

	"GET /links/{token}":  anybody,                         // the token in the path authenticates
	"POST /links/{token}": {Quiet: true, Repeatable: true}, // likewise; the handler notes what it did

	"GET /login/oidc":          anybody, // redirects to the provider
	"GET /login/oidc/callback": anybody, // redirect from the provider

	"GET /api/v1/session":          anybody,
	"POST /api/v1/session":         {Quiet: true, Secret: true}, // the handler notes who it was
	"DELETE /api/v1/session":       {Quiet: true, Secret: true},
	"PUT /api/v1/session/password": {Self: true, Quiet: true, Secret: true},

	"GET /api/v1/users":           admin,
	"POST /api/v1/users":          {Need: access.Administer, Secret: true},
	"GET /api/v1/users/{name}":    admin,
	"PATCH /api/v1/users/{name}":  {Need: access.Administer, Secret: true},
	"DELETE /api/v1/users/{name}": admin,
	"GET /api/v1/tokens":          {Self: true},
	"POST /api/v1/tokens":         {Self: true, Secret: true},
	"DELETE /api/v1/tokens/{id}":  {Self: true},
	"GET /api/v1/shares":          writer,
	"POST /api/v1/shares":         {Need: access.Write, Secret: true},
	"DELETE /api/v1/shares/{id}":  writer,
	"GET /api/v1/audit":           admin,

	"POST /api/v1/probe":              {Need: access.Write, Quiet: true},
	"POST /api/v1/import/document":    {Need: access.Write, Quiet: true},
	"GET /api/v1/probe/{id}/outline":  writer,
	"GET /api/v1/probe/{id}/rendered": writer,

	"GET /api/v1/sources":                                   ofList,
	"POST /api/v1/sources":                                  writer,
	"GET /api/v1/sources/facets":                            reader,
	"POST /api/v1/import":                                   repeatable(writer),
	"POST /api/v1/sources/batch":                            repeatable(writer),
	"POST /api/v1/sources/bulk":                             repeatable(writer),
	"POST /api/v1/sources/bulk/{edit}/undo":                 repeatable(writer),
	"GET /api/v1/sources/{id}":                              ofSourceID,
	"PATCH /api/v1/sources/{id}":                            editSource,
	"DELETE /api/v1/sources/{id}":                           editSource,
	"POST /api/v1/sources/{id}/poll":                        repeatable(editSource),
	"POST /api/v1/sources/{id}/confirm":                     editSource,
	"POST /api/v1/sources/{id}/hook":                        {Need: access.Write, Tag: rest.TagPath, Secret: true},
	"DELETE /api/v1/sources/{id}/hook":                      editSource,
	"POST /api/v1/sources/{id}/taught":                      repeatable(editSource),
	"GET /api/v1/sources/{id}/taught":                       ofSourceID,
	"POST /api/v1/sources/{id}/test":                        repeatable(trial),
	"GET /api/v1/sources/{id}/chances":                      ofSourceID,
	"PUT /api/v1/sources/{id}/chances":                      editSource,
	"DELETE /api/v1/sources/{id}/chances":                   editSource,
	"GET /api/v1/sources/{id}/suggestions":                  ofSourceID,
	"GET /api/v1/sources/{id}/diff":                         ofSourceID,
	"GET /api/v1/sources/{id}/fields/{name}":                ofSourceID,
	"GET /api/v1/sources/{id}/outcomes":                     ofSourceID,
	"GET /api/v1/sources/{id}/rhythm":                       ofSourceID,
	"GET /api/v1/sources/{id}/why":                          ofSourceID,
	"GET /api/v1/sources/{id}/feed.atom":                    ofSourceID,
	"GET /api/v1/sources/{id}/feed.rss":                     ofSourceID,
	"GET /api/v1/sources/{id}/feed.json":                    ofSourceID,
	"GET /api/v1/sources/{id}/versions/{number}/outline":    ofSourceID,
	"GET /api/v1/sources/{id}/versions":                     ofSourceID,
	"POST /api/v1/sources/{id}/versions":                    repeatable(editSource),
	"GET /api/v1/sources/{id}/versions/{number}":            ofSourceID,
	"GET /api/v1/sources/{id}/versions/{number}/text":       ofSourceID,
	"GET /api/v1/sources/{id}/versions/{number}/raw":        ofSourceID,
	"GET /api/v1/sources/{id}/versions/{number}/response":   ofSourceID,
	"GET /api/v1/sources/{id}/versions/{number}/rendered":   ofSourceID,
	"GET /api/v1/sources/{id}/versions/{number}/screenshot": ofSourceID,

	"GET /timegate/{url...}":       ofURL,
	"GET /timemap/link/{url...}":   ofURL,
	"GET /memento/{time}/{url...}": ofURL,

	// The routes that a tool calls have rules of their own, and note what it did.
	"POST /mcp":       {Need: access.Read, Tag: rest.TagFound, Quiet: true, Secret: true},
	"POST /mcp/write": {Need: access.Write, Tag: rest.TagFound, Quiet: true, Secret: true},

	"GET /api/v1/sites":            reader,
	"GET /api/v1/sites/{id}":       ofSourceID,
	"GET /api/v1/sites/{id}/pages": ofSourceID,

	"GET /api/v1/changes":        ofList,
	"GET /api/v1/changes/newest": ofList,
	"GET /api/v1/changes/stream": ofList,
	"GET /api/v1/feed.atom":      ofList,
	"GET /api/v1/feed.rss":       ofList,
	"GET /api/v1/feed.json":      ofList,
	"GET /api/v1/search":         ofList,
	"GET /api/v1/outcomes":       reader,
	"GET /api/v1/polls":          ofList,
	"POST /api/v1/polls":         repeatable(writer),

	"GET /api/v1/states": ofList,

	"POST /api/v1/alerts":                     writer,
	"POST /api/v1/alerts/preview":             repeatable(trial),
	"POST /api/v1/alerts/test":                repeatable(trial),
	"GET /api/v1/queries":                     reader,
	"POST /api/v1/queries":                    writer,
	"POST /api/v1/queries/test":               {Need: access.Read, Quiet: true, Repeatable: true},
	"GET /api/v1/queries/{id}":                ofQueryID,
	"PATCH /api/v1/queries/{id}":              writer,
	"DELETE /api/v1/queries/{id}":             writer,
	"POST /api/v1/queries/{id}/acknowledge":   writer,
	"GET /api/v1/queries/{id}/matches":        ofQueryID,
	"GET /api/v1/queries/{id}/matches/stream": ofQueryID,
	"GET /api/v1/queries/{id}/feed.atom":      ofQueryID,
	"GET /api/v1/queries/{id}/feed.rss":       ofQueryID,
	"GET /api/v1/queries/{id}/feed.json":      ofQueryID,

	"GET /api/v1/sinks":                 reader,
	"GET /api/v1/sinks/{name}":          reader,
	"PUT /api/v1/sinks/{name}":          writer,
	"PATCH /api/v1/sinks/{name}":        writer,
	"DELETE /api/v1/sinks/{name}":       writer,
	"POST /api/v1/sinks/{name}/test":    repeatable(writer),
	"POST /api/v1/sinks-preview":        repeatable(trial),
	"GET /api/v1/sinks-kinds":           reader,
	"GET /api/v1/sinks/{name}/owed":     reader,
	"GET /api/v1/sinks/{name}/attempts": reader,
	"GET /api/v1/sinks/{name}/letters":  reader,
	"POST /api/v1/sinks/{name}/replay":  repeatable(writer),

	"GET /api/v1/lab":              reader,
	"GET /api/v1/lab/runs":         reader,
	"POST /api/v1/lab/runs":        repeatable(writer),
	"GET /api/v1/lab/runs/{id}":    reader,
	"DELETE /api/v1/lab/runs/{id}": writer,

	"GET /api/v1/budget":                      reader,
	"GET /api/v1/numbers":                     ofList,
	"GET /api/v1/numbers/days":                reader,
	"GET /api/v1/numbers/divergence":          reader,
	"GET /api/v1/overview":                    reader,
	"GET /api/v1/flow":                        reader,
	"GET /api/v1/status":                      reader,
	"GET /api/v1/cluster":                     reader,
	"POST /api/v1/cluster/hands/{name}/drain": repeatable(admin),
	"GET /api/v1/browser":                     reader,
	"POST /api/v1/reload":                     repeatable(admin),
	"GET /api/v1/settings":                    reader,
	"PATCH /api/v1/settings":                  repeatable(admin),
}
