// The documents of rpc.discover: valid by OpenRPC's own schema, and true of the requests and answers that the pages
// show. What is checked comes as a file: documents by path, and exchanges.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import openrpc from '@open-rpc/meta-schema';
import jsonSchema from '@json-schema-tools/meta-schema';
import Ajv from 'ajv';
import { steps } from './check.mjs';

const { documents, exchanges, misfits } = JSON.parse(readFileSync(process.argv[2]));

/** Where the schema of OpenRPC documents is, as they name it. */
const META_SCHEMA = 'https://raw.githubusercontent.com/open-rpc/meta-schema/master/schema.json';

/** Formats only say how large numbers are. */
const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false });
ajv.addSchema(jsonSchema.default ?? jsonSchema, 'https://meta.json-schema.tools');
ajv.addSchema({ ...(openrpc.default ?? openrpc), $id: META_SCHEMA, $schema: undefined });
for (const [path, document] of Object.entries(documents)) {
  ajv.addSchema({ $id: base(path), components: document.components });
}

function base(path) {
  return `node:${path}`;
}

/** What is wrong with a value by a schema of the document at a path; nothing: null. */
function fault(path, schema, value) {
  const key = `${base(path)}?${JSON.stringify(schema)}`;
  const validate = ajv.getSchema(key) ?? ajv.compile({ ...absolute(path, schema), $id: key });
  return validate(value) ? null : ajv.errorsText(validate.errors);
}

/** A schema whose references name the document. */
function absolute(path, schema) {
  return JSON.parse(JSON.stringify(schema), (name, value) =>
    name === '$ref' && value.startsWith('#') ? base(path) + value : value,
  );
}

function find(path, name) {
  const method = documents[path]?.methods.find(
    (method) => method.name === name || (method['x-aliases'] ?? []).includes(name),
  );
  assert.ok(method, `${path} has no ${name}`);
  return method;
}

/** What is wrong with the arguments of a call; nothing: null. */
function argumentFault(path, method, params) {
  let given;
  if (method.paramStructure === 'by-position') {
    const list = params ?? [];
    if (list.length > method.params.length) return 'too many arguments';
    given = Object.fromEntries(list.map((value, at) => [method.params[at].name, value]));
  } else {
    given = (Array.isArray(params) ? params[0] : params) ?? {};
  }
  for (const name of Object.keys(given)) {
    if (!method.params.some((param) => param.name === name)) return `no parameter ${name}`;
  }
  for (const { name, required, schema } of method.params) {
    if (!(name in given)) {
      if (required) return `${name} is required`;
      continue;
    }
    const wrong = fault(path, schema, given[name]);
    if (wrong) return `${name}: ${wrong}`;
  }
  return null;
}

function report(faults) {
  assert.ok(faults.length === 0, `\n${faults.join('\n')}`);
}

await steps([
  ['each document is valid by the schema of OpenRPC', () => {
    const validate = ajv.getSchema(META_SCHEMA);
    const faults = Object.entries(documents).map(([path, document]) =>
      validate(document) ? null : `${path}: ${ajv.errorsText(validate.errors)}`,
    );
    report(faults.filter((wrong) => wrong));
    assert.ok(Object.keys(documents).length > 0);
  }],
  ['a document that is none is refused', () => {
    const [document] = Object.values(documents);
    const validate = ajv.getSchema(META_SCHEMA);
    assert.ok(!validate({ ...document, openrpc: '0.9' }));
    assert.ok(!validate({ ...document, methods: [{ name: 'a' }] }));
  }],
  ['every reference leads to a schema', () => {
    for (const [path, { methods, components }] of Object.entries(documents)) {
      for (const schema of Object.values(components.schemas)) fault(path, schema, null);
      for (const { params, result } of methods) {
        [...params, result].forEach(({ schema }) => fault(path, schema, null));
      }
    }
  }],
  ['documented requests fit', () => {
    const faults = exchanges.map(({ at, path, method, params }) => {
      const wrong = argumentFault(path, find(path, method), params);
      return wrong && `${at}: ${method}: ${wrong}`;
    });
    report(faults.filter((wrong) => wrong));
    assert.ok(exchanges.length > 100, `${exchanges.length} exchanges`);
  }],
  ['documented answers fit', () => {
    const faults = exchanges.map(({ at, path, method, result }) => {
      const wrong = fault(path, find(path, method).result.schema, result);
      return wrong && `${at}: ${method}: ${wrong}`;
    });
    report(faults.filter((wrong) => wrong));
  }],
  ['no result but a trace may be anything', () => {
    const faults = Object.entries(documents).flatMap(([path, { methods }]) =>
      methods
        .filter(({ result }) => !fault(path, result.schema, 5.5))
        .map(({ name }) => name)
        .filter((name) => !['debug_traceTransaction', 'debug_traceCall'].includes(name)),
    );
    report(faults);
  }],
  ['wrong arguments do not fit', () => {
    const faults = misfits
      .filter(({ path, method, params }) => !argumentFault(path, find(path, method), params))
      .map(({ path, method, params }) => `${path} ${method} ${JSON.stringify(params)} fits`);
    report(faults);
    assert.ok(misfits.length > 0);
  }],
]);
