// Pinocchio's second-order derivatives of inverse dynamics, which its Python package does not have.
// second_order.py compiles this and calls it; models and states are handed over before anything is
// timed.
#include <string>
#include <vector>

#include <unsupported/Eigen/CXX11/Tensor>

#include <pinocchio/algorithm/rnea-second-order-derivatives.hpp>
#include <pinocchio/multibody.hpp>

namespace
{
using Vector = Eigen::VectorXd;
using Tensor = Eigen::Tensor<double, 3>;

struct Case
{
  pinocchio::Model model;
  pinocchio::Data data;
  Tensor qq, vv, qv, aq;
  std::vector<Vector> q, v, a;
};

// The joint of a name that Python's `shortname` gives; those that robots of the benchmark have.
bool joint_of(const std::string & kind, const Eigen::Vector3d & axis, pinocchio::JointModel & out)
{
  using namespace pinocchio;
  if (kind == "JointModelFreeFlyer") out = JointModelFreeFlyer();
  else if (kind == "JointModelRX") out = JointModelRX();
  else if (kind == "JointModelRY") out = JointModelRY();
  else if (kind == "JointModelRZ") out = JointModelRZ();
  else if (kind == "JointModelRevoluteUnaligned") out = JointModelRevoluteUnaligned(axis);
  else if (kind == "JointModelRUBX") out = JointModelRUBX();
  else if (kind == "JointModelRUBY") out = JointModelRUBY();
  else if (kind == "JointModelRUBZ") out = JointModelRUBZ();
  else if (kind == "JointModelRevoluteUnboundedUnaligned")
    out = JointModelRevoluteUnboundedUnaligned(axis);
  else if (kind == "JointModelPX") out = JointModelPX();
  else if (kind == "JointModelPY") out = JointModelPY();
  else if (kind == "JointModelPZ") out = JointModelPZ();
  else if (kind == "JointModelPrismaticUnaligned") out = JointModelPrismaticUnaligned(axis);
  else return false;
  return true;
}
} // namespace

extern "C"
{
void * second_order_new() { return new Case; }

// The next joint of the model and its body. `placement` is rotation, row by row, and position;
// `inertia` is mass, center and the rotational inertia about it, xx xy yy xz yz zz. 0: unknown kind.
int second_order_joint(
  void * handle, int parent, const char * kind, const double * axis, const double * placement,
  const double * inertia)
{
  auto * it = static_cast<Case *>(handle);
  using RowMajor = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
  pinocchio::JointModel joint;
  if (!joint_of(kind, Eigen::Map<const Eigen::Vector3d>(axis), joint))
    return 0;
  const Eigen::Matrix3d R = Eigen::Map<const RowMajor>(placement);
  const Eigen::Vector3d p = Eigen::Map<const Eigen::Vector3d>(placement + 9);
  const std::string name = std::to_string(it->model.njoints);
  const auto id = it->model.addJoint(parent, joint, pinocchio::SE3(R, p), name);
  const Eigen::Vector3d center = Eigen::Map<const Eigen::Vector3d>(inertia + 1);
  Eigen::Matrix3d I;
  I << inertia[4], inertia[5], inertia[7], inertia[5], inertia[6], inertia[8], inertia[7],
    inertia[8], inertia[9];
  const pinocchio::Inertia body(inertia[0], center, I);
  it->model.appendBodyToJoint(id, body, pinocchio::SE3::Identity());
  return 1;
}

// Once all joints are there: memory for results. Gives the number of velocities.
int second_order_ready(void * handle)
{
  auto * it = static_cast<Case *>(handle);
  it->data = pinocchio::Data(it->model);
  const int n = it->model.nv;
  for (Tensor * t : {&it->qq, &it->vv, &it->qv, &it->aq})
  {
    *t = Tensor(n, n, n);
    t->setZero();
  }
  return n;
}

// The next state, in Pinocchio's coordinates.
void second_order_state(void * handle, const double * q, const double * v, const double * a)
{
  auto * it = static_cast<Case *>(handle);
  const int nq = it->model.nq, nv = it->model.nv;
  it->q.push_back(Eigen::Map<const Vector>(q, nq));
  it->v.push_back(Eigen::Map<const Vector>(v, nv));
  it->a.push_back(Eigen::Map<const Vector>(a, nv));
}

void second_order_run(void * handle, int k)
{
  auto * it = static_cast<Case *>(handle);
  pinocchio::ComputeRNEASecondOrderDerivatives(
    it->model, it->data, it->q[k], it->v[k], it->a[k], it->qq, it->vv, it->qv, it->aq);
}

// 0: by q and q, 1: by v and v, 2: by q and v, 3: by a and q; column by column.
const double * second_order_result(void * handle, int which)
{
  auto * it = static_cast<Case *>(handle);
  const Tensor * all[] = {&it->qq, &it->vv, &it->qv, &it->aq};
  return all[which]->data();
}

void second_order_delete(void * handle) { delete static_cast<Case *>(handle); }
}
