// forms.mjs WEB OWN CHROMIUM FILE: FILE has one JSON object a line with id and schema, or input_schema. For each, a form is made and
// filled in Chromium, and Ajv validates what it would send. Prints one line of JSON for each, and one with the faults of the page.
import {readFileSync} from 'node:fs';
import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import {browse} from './browser.mjs';

const [web, own, program, file] = process.argv.slice(2);

// validator gives Ajv's, and why a schema is none by its meta-schema, as servers write it all the same: then what
// cannot be meant is taken out of it, as no value would be valid or invalid.
function validator(schema) {
  const modern = typeof schema === 'object' && /2020-12|2019-09/.test(schema.$schema ?? '') || JSON.stringify(schema).includes('"prefixItems"');
  const make = (more) => formats.default(new (modern ? Ajv2020.default : Ajv.default)({strict: false, logger: false, ...more}));
  try {
    return {validate: make().compile(schema), meta: ''};
  } catch (fault) {
    return {validate: make({validateSchema: false}).compile(repaired(schema)), meta: fault.message};
  }
}

function repaired(schema) {
  return JSON.parse(JSON.stringify(schema), (key, value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    if (typeof value.required === 'boolean') delete value.required;
    if (typeof value.type === 'string' && !['null', 'boolean', 'number', 'integer', 'string', 'array', 'object'].includes(value.type)) delete value.type;
    for (const [over, limit] of [['exclusiveMinimum', 'minimum'], ['exclusiveMaximum', 'maximum']]) { // of draft-04
      if (value[over] === true) value[over] = value[limit];
      else if (value[over] === false) delete value[over];
    }
    return value;
  });
}

const {page, faults, close} = await browse(web, own, program, 'drive.js');
for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean)) {
  const {id, schema, input_schema = schema} = JSON.parse(line);
  if (input_schema === undefined) continue;
  const {validate, meta} = validator(input_schema);
  const made = await page.evaluate((text) => window.drive(text), JSON.stringify(input_schema));
  const valid = made.sent !== undefined && validate(JSON.parse(made.sent));
  console.log(JSON.stringify({id, meta, valid, errors: !valid ? JSON.stringify(validate.errors).slice(0, 300) : '', ...made}));
}
console.log(JSON.stringify({faults}));
await close();
