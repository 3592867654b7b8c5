/** A service that issues tokens to the workloads of all its customers under one address. */
interface SharedIssuer {
  name: string
  /** Matches the issuer. */
  pattern: RegExp
  /**
   * Claims that identify the owner, or something of the owner, by an id that is never given to others;
   * names can be renamed, deleted and registered again by others.
   */
  pins: readonly string[]
}

/**
 * Shared issuers, from the documentation of each: `repository`, `sub` with a name in it and the like
 * are missing on purpose.
 */
export const sharedIssuers: readonly SharedIssuer[] = [
  {
    name: 'GitHub Actions',
    // Enterprises may have their own: https://token.actions.githubusercontent.com/ENTERPRISE.
    pattern: /^https:\/\/token\.actions\.githubusercontent\.com(\/|$)/,
    pins: ['repository_id', 'repository_owner_id', 'enterprise_id'],
  },
  {
    name: 'GitLab.com',
    pattern: /^https:\/\/gitlab\.com$/,
    pins: ['project_id', 'namespace_id'],
  },
  {
    name: 'Google',
    pattern: /^(https:\/\/)?accounts\.google\.com$/,
    pins: ['sub', '/google/compute_engine/project_number', '/google/compute_engine/instance_id'],
  },
  {
    name: 'Microsoft Entra ID',
    pattern: /^https:\/\/(login\.microsoftonline\.com|sts\.windows\.net)\//,
    pins: ['oid', 'sub', 'azp', 'appid'],
  },
  {
    name: 'Buildkite',
    pattern: /^https:\/\/agent\.buildkite\.com$/,
    pins: ['organization_id', 'pipeline_id'],
  },
  {
    name: 'Bitbucket Pipelines',
    pattern: /^https:\/\/api\.bitbucket\.org\//,
    pins: ['repositoryUuid', 'workspaceUuid'],
  },
  {
    name: 'CircleCI',
    pattern: /^https:\/\/oidc\.circleci\.com\//,
    pins: ['oidc.circleci.com/project-id', 'oidc.circleci.com/org-id'],
  },
  {
    name: 'HCP Terraform',
    pattern: /^https:\/\/app(\.eu)?\.terraform\.io$/,
    pins: ['terraform_workspace_id', 'terraform_project_id', 'terraform_organization_id'],
  },
  {
    name: 'Vercel',
    // Teams may have their own, by a name that can change hands: https://oidc.vercel.com/TEAM.
    pattern: /^https:\/\/oidc\.vercel\.com(\/|$)/,
    pins: ['project_id', 'owner_id'],
  },
  {
    name: 'Azure DevOps',
    pattern: /^https:\/\/vstoken\.dev\.azure\.com(\/|$)/,
    pins: ['def_id', 'rpo_id', 'prj_id', 'org_id'],
  },
  {
    name: 'Amazon Cognito identity pools',
    pattern: /^https:\/\/cognito-identity\.amazonaws\.com$/,
    // aud is the id of the pool.
    pins: ['sub', 'aud'],
  },
  {
    name: 'Sigstore',
    // Anyone can sign in there, and email addresses change hands.
    pattern: /^https:\/\/oauth2\.sigstore\.dev\/auth$/,
    pins: ['sub'],
  },
]

/** How to make an access rule for a platform from the name that its users know. */
export interface PlatformPreset {
  platform: string
  title: string
  issuer: string
  /** The value to ask for: below, `{name}` is it percent-encoded, `{path}` with its slashes kept. */
  subject: string
  /** Public address whose JSON tells the ids, if the repository is public. */
  lookup?: string
  /** Conditions with the values to ask for, or to find in that JSON at the JSON pointer. */
  ids: Readonly<Record<string, { title: string; pointer?: string }>>
  /** Further conditions that are usually wanted, to be confirmed. */
  suggested: Readonly<Record<string, string>>
}

export const platformPresets: readonly PlatformPreset[] = [
  {
    platform: 'github',
    title: 'GitHub Actions',
    issuer: 'https://token.actions.githubusercontent.com',
    subject: 'owner/repo',
    lookup: 'https://api.github.com/repos/{path}',
    ids: {
      repository_id: { title: 'Id of the repository', pointer: '/id' },
      repository_owner_id: { title: 'Id of its owner', pointer: '/owner/id' },
    },
    suggested: { ref: 'refs/heads/main' },
  },
  {
    platform: 'gitlab',
    title: 'GitLab CI on GitLab.com',
    issuer: 'https://gitlab.com',
    subject: 'group/project',
    lookup: 'https://gitlab.com/api/v4/projects/{name}',
    ids: {
      project_id: { title: 'Id of the project', pointer: '/id' },
      namespace_id: { title: 'Id of its namespace', pointer: '/namespace/id' },
    },
    suggested: { ref_type: 'branch', ref: 'main', ref_protected: 'true' },
  },
  {
    platform: 'buildkite',
    title: 'Buildkite',
    issuer: 'https://agent.buildkite.com',
    subject: 'organization/pipeline',
    ids: {
      organization_id: { title: 'Id of the organization (a UUID)' },
      pipeline_id: { title: 'Id of the pipeline (a UUID)' },
    },
    suggested: { build_branch: 'main' },
  },
  {
    platform: 'terraform',
    title: 'HCP Terraform',
    issuer: 'https://app.terraform.io',
    subject: 'organization/workspace',
    ids: { terraform_workspace_id: { title: 'Id of the workspace (ws-…)' } },
    suggested: { terraform_run_phase: 'apply' },
  },
]
