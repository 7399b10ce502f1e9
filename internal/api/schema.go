package api

import (
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"freshet/client"
)

// describeTypes tells the registry what the types of package client cannot say
// of themselves, because a client need not know huma.
func describeTypes(r huma.Registry) {
	r.RegisterTypeAlias(reflect.TypeFor[client.Duration](), reflect.TypeFor[duration]())
	r.RegisterTypeAlias(reflect.TypeFor[client.ErrorDetail](), reflect.TypeFor[huma.ErrorDetail]()) // huma tells of wrong values, too
}

// A duration is a client.Duration with a schema.
type duration time.Duration

const durationPattern = `^(0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h|d|w))+)?$`

// Schema implements [huma.SchemaProvider].
func (duration) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Nullable: true,
		Pattern: durationPattern, PatternDescription: "a time such as 90s, 1h30m or 2d",
		Examples: []any{"1h30m"},
	}
}

// What can be edited of a source, a query and a sink: each is what can be said of a new one,
// with a schema of its own.
type (
	sourceEdit client.SourceEdit
	queryEdit  client.NewQuery
	sinkEdit   client.NewSink
)

// TransformSchema implements [huma.SchemaTransformer]: everything but the URL
// can be set back, the parts also as a whole.
func (sourceEdit) TransformSchema(r huma.Registry, s *huma.Schema) *huma.Schema {
	s = settable(r, s)
	s.Properties["url"].Nullable = false
	return s
}

// TransformSchema implements [huma.SchemaTransformer].
func (queryEdit) TransformSchema(r huma.Registry, s *huma.Schema) *huma.Schema {
	return settable(r, s)
}

// TransformSchema implements [huma.SchemaTransformer].
func (sinkEdit) TransformSchema(r huma.Registry, s *huma.Schema) *huma.Schema { return settable(r, s) }

// settable lets every field of a schema be null, and every part of a field.
func settable(r huma.Registry, s *huma.Schema) *huma.Schema {
	for name, field := range s.Properties {
		if field.Ref != "" {
			part := *r.SchemaFromRef(field.Ref)
			field = &part
			s.Properties[name] = field
		}
		for _, inner := range field.Properties {
			letBeNull(inner)
		}
		if values, ok := field.AdditionalProperties.(*huma.Schema); ok {
			letBeNull(values)
		}
		letBeNull(field)
	}
	return s
}

// letBeNull lets what a schema describes be null. One without a type takes anything.
func letBeNull(s *huma.Schema) { s.Nullable = s.Type != "" }
