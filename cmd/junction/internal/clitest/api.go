package clitest

const PetsDocument = `openapi: 3.1.0
info: {title: Pets, version: "1"}
components: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}}
security: [{key: []}]
paths:
  /pets/{id}:
    parameters: [{name: id, in: path, schema: {type: integer}}]
    get: {operationId: getPet, tags: [pets]}
    delete: {operationId: deletePet, tags: [pets, admin]}
  /users:
    get: {operationId: listUsers, tags: [users]}
`
