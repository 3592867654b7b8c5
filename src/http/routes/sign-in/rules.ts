import { SignInRule, SignInRuleCreate, SignInRuleUpdate } from '../../../contract/sign-in/rules.ts'
import type { Context } from '../../../core/context.ts'
import {
  createSignInRule,
  deleteSignInRule,
  getSignInRule,
  listSignInRules,
  updateSignInRule,
} from '../../../core/sign-in/rules.ts'
import type { App } from '../../options.ts'
import { managedRecords, recordRoutes } from '../managed-records.ts'

const signInRules = managedRecords({
  collection: '/v1/sign-in-rules',
  type: { one: 'SignInRule', many: 'SignInRules' },
  noun: { bare: 'sign-in rule', one: 'a sign-in rule', many: 'sign-in rules' },
  deletion: { verb: 'Delete', done: 'deleted' },
  access: { role: 'admin', unbound: true },
  schemas: {
    shown: SignInRule,
    created: SignInRule,
    create: SignInRuleCreate,
    update: SignInRuleUpdate,
  },
  notFound: 'sign_in_rule_not_found',
  descriptions: {
    create:
      'Gives a role to people by the claims that the OpenID provider asserts when they sign in. A condition on `email` also requires `email_verified`.',
    list: 'All of them, oldest first.',
    update:
      'A merge patch (RFC 7396) of `name`, `conditions`, `role` and `active`. It takes effect with the next request of every session, on every replica. Issuer and project of a rule never change.',
    delete: 'Takes effect with the next request of every session, on every replica.',
  },
  operations: {
    create: createSignInRule,
    list: listSignInRules,
    read: getSignInRule,
    update: updateSignInRule,
    delete: deleteSignInRule,
  },
})

export function signInRuleRoutes(app: App, context: Context): void {
  recordRoutes(app, context, signInRules)
}
